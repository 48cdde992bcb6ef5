"""Methods by name: one table, folders in the place of names, and what becomes of names that were removed."""

from pathlib import Path

import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tracerank.embedding import load
from tracerank.embedding.base import HashEmbedder, Vectors, identify
from tracerank.errors import CheckpointError, UsageError
from tracerank.lab.worlds.presets import SCATTERED, iter_world
from tracerank.methods import (
    METHODS,
    MethodOptions,
    fitted_by,
    has_confidence,
    load_method,
    load_selector,
    method_identity,
    methods_named,
)
from tracerank.pools.correctness import choice
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.votes.base import UNLIKE, decide_stream
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.folders import SHIPPED, existing_folder, remember_fitted, selector_digest
from tracerank.votes.voting import MajorityVote

POOL = pool("Paris", "Paris.", "Rome")
ALONE = [name for name, row in METHODS.items() if not row.needs_chat and name not in ("oracle", "trace")]
ASKING = [name for name, row in METHODS.items() if row.needs_chat]


@pytest.mark.parametrize("name", ALONE)
def test_a_method_that_needs_nothing_decides_under_its_name(name: str) -> None:
    method = load_method(name)
    decision = method.decide(POOL)
    assert method.name == name
    assert decision.sample_id is not None
    assert (decision.rank_score is not None) is has_confidence(name)


@pytest.mark.parametrize("name", ASKING)
def test_a_method_that_asks_a_chat_model_needs_one(name: str) -> None:
    with pytest.raises(UsageError, match=f"^--chat URL#MODEL is needed for {name}"):
        load_method(name)
    options = MethodOptions(chat="http://127.0.0.1:9/v1#model", chat_context=4096)
    assert load_method(name, options).name == name


def test_equality_and_form_are_options_of_votes() -> None:
    said = pool("Paris, France", "Paris", "It is Paris.", "Rome", "Rome", "unknown", "unknown", "unknown")
    plain = MethodOptions(equality="default", form="shortest")
    assert load_method("majority").decide(said).answer == "Rome"
    assert load_method("majority", plain).decide(said).answer == "Paris"
    assert load_method("weighted", plain).decide(said).answer == "Paris"
    assert load_method("majority", equality="meaning").decide(said).group == (0, 1, 2)
    assert load_method("majority", plain, form="first").decide(said).answer == "Paris, France"
    with pytest.raises(UsageError, match="no option 'equalty'; did you mean 'equality'"):
        load_method("majority", equalty="meaning")
    assert load_method("majority-paper", plain).decide(said).answer == "unknown"
    assert load_method("evidence", plain).decide(said).answer == "Paris"
    with pytest.raises(UsageError, match="equality 'roughly': expected one of exact, default"):
        MethodOptions(equality="roughly")
    with pytest.raises(UsageError, match="form 'long': expected one of "):
        MethodOptions(form="long")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("majority-default-shortest", "use --method majority --equality default --form shortest"),
        ("majority-containment", "use --method majority --equality default"),
        ("selector", "use --method evidence"),
        ("browsing", "use --method evidence"),
        ("trace-plus", "use --method evidence"),
        ("verifier-tournament", "use --method verifier"),
        ("solagg-paper", "use --method solagg"),
        ("trace=checkpoints/mine", "use --method checkpoints/mine"),
    ],
)
def test_a_removed_name_says_what_to_use(name: str, instead: str) -> None:
    with pytest.raises(UsageError, match=f"^the method {name!r} was removed: .*{instead}"):
        load_method(name)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(UsageError, match=r"no method or folder is called 'tarot'; known are single, .*oracle"):
        load_method("tarot")
    with pytest.raises(CheckpointError, match="no checkpoint here"):
        load_method("./nowhere")


def test_several_methods_are_named_once_each_and_a_folder_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    load_selector().save("mine")
    FittedVote(MajorityVote()).save("other")
    found = methods_named(["majority", "evidence", "mine", "other"])
    assert [method.name for method in found] == ["majority", "evidence", "mine", "other"]
    assert found[1].decide(POOL) == found[2].decide(POOL)
    with pytest.raises(UsageError, match="named twice"):
        methods_named(["majority", "majority"])
    with pytest.raises(UsageError, match="no method or folder"):
        methods_named(["evidence", "tarot"])


def test_a_run_remembers_fitted_methods_by_their_digest_and_all_that_can_change_a_decision(tmp_path: Path) -> None:
    load_selector().save(tmp_path)
    remember_fitted(tmp_path, [POOL.question.text])
    assert method_identity("majority") == "majority"
    assert method_identity("evidence") == f"evidence={selector_digest(SHIPPED)}"
    assert method_identity(str(tmp_path)) == f"{tmp_path}={selector_digest(tmp_path)}"
    assert POOL in fitted_by(["majority", "evidence", str(tmp_path)])
    assert POOL not in fitted_by(["majority", "evidence"])
    assert MethodOptions(chat_time="5").identity() == MethodOptions().identity()
    assert MethodOptions(seed=1).identity() != MethodOptions().identity()


# Networks: the encoder that they need, and vectors that are kept.


class Counting:
    """Vectors of hashed words under a name of its own; counts the texts that it is asked for."""

    name = spec = "counting"
    fingerprint = "counting/1"
    texts = 0

    def __init__(self, width: int) -> None:
        self.width = width
        self._hash = HashEmbedder(width)

    def embed(self, texts: list[str]) -> Vectors:
        Counting.texts += len(texts)
        return self._hash.embed(texts)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small TRACE network on disk whose encoder is a named one that counts."""
    pytest.importorskip("torch")
    from tests.viewer.pages import selector
    from tracerank.trace.checkpoint import Checkpoint
    from tracerank.trace.selector import TraceSelector

    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "cache" / "vectors"))
    made = selector("webqa")
    embedder = Counting(made.embedder.width)
    monkeypatch.setattr(load, "_uncached", lambda spec, dims: Counting(made.embedder.width))
    TraceSelector(Checkpoint(made.net, identify(embedder)), embedder).save(tmp_path / "trace")
    return tmp_path / "trace"


def test_a_loaded_network_encodes_each_text_once_ever_and_has_the_shipped_confidence(saved: Path) -> None:
    pools = [pool(f"Paris {number}", "Rome") for number in range(10)]
    first = load_selector(saved).decide_many(pools)
    asked = Counting.texts
    again = load_selector(saved)
    known = Counting.texts  # the few reference texts by which an encoder is recognised
    assert again.decide_many(pools) == first
    assert Counting.texts == known > 0 < asked
    assert all(decision.rank_score is not None for decision in first)


def test_an_embedder_that_is_given_is_used_as_it_is(saved: Path) -> None:
    selector = load_selector(saved)
    assert selector.encoder is not None
    assert selector.encoder.spec == "counting"
    assert load_selector().encoder is None
    own = Counting(selector.embedder.width)  # type: ignore[attr-defined]
    assert load_selector(saved, own).embedder is own  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="chooses the wording itself"):
        load_method(str(saved), MethodOptions(form="first"))


def test_the_network_that_ships_decides_its_world_and_warns_of_other_pools() -> None:
    network, world = load_method("trace"), list(iter_world(SCATTERED[WEBQA], 60, seed=7))
    decisions = list(decide_stream(network, world))
    assert sum(UNLIKE in (decision.note or "") for _, decision in decisions) <= 5
    right = [choice(pool, decision.sample_id).correct or 0.0 for pool, decision in decisions]
    voted = [choice(pool, decision.sample_id).correct or 0.0 for pool, decision in decide_stream(MajorityVote(), world)]
    assert sum(right) >= sum(voted)
    other = pool_of(rollout("Orn", ranked("bridge", "The Orn is a river that flows under seven bridges of stone.")))
    browsing = next(iter_world(SCATTERED[BROWSING], 1, seed=7, k=2))
    assert all(UNLIKE in (network.decide(pool).note or "") for pool in (other, browsing))


def test_the_network_that_ships_is_small_and_knows_what_it_learned_from() -> None:
    assert sum(path.stat().st_size for path in existing_folder("trace").iterdir()) < 6e6
    learned = fitted_by(["trace"])
    assert next(iter_world(SCATTERED[WEBQA], 1, seed=1, k=1)) in learned
    assert next(iter_world(SCATTERED[WEBQA], 1, seed=2, k=1)) not in learned
