"""One protocol for selectors, one loader of their folders; vectors of what it loads are kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import pool
from tests.viewer.pages import selector
from tracerank.embedding import load
from tracerank.embedding.base import HashEmbedder, Vectors, identify
from tracerank.errors import CheckpointError
from tracerank.evidence.selector import EvidenceSelector
from tracerank.methods import load_selector
from tracerank.selectors.features.model import load_model, save_model
from tracerank.selectors.features.table import Feature, FeatureSet
from tracerank.selectors.meaning import compute
from tracerank.selectors.meaning import selector as deciding
from tracerank.selectors.meaning.table import MEANING_FEATURES
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.selector import TraceSelector
from tracerank.votes.folders import ABOUT, CHECKSUMS, KINDS, SHIPPED, folder_of, selector_digest, selector_kind
from tracerank.votes.selector import Selector


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
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "cache" / "vectors"))
    made = selector("webqa")
    embedder = Counting(made.embedder.width)
    monkeypatch.setattr(load, "NAMED", {**load.NAMED, "counting": lambda dims: Counting(made.embedder.width)})
    TraceSelector(Checkpoint(made.net, identify(embedder)), embedder).save(tmp_path / "trace")
    return tmp_path / "trace"


def test_a_loaded_selector_encodes_each_text_once_ever(saved: Path) -> None:
    pools = [pool(f"Paris {number}", "Rome") for number in range(10)]
    first = load_selector(saved).decide_many(pools)
    asked = Counting.texts
    again = load_selector(saved)
    known = Counting.texts  # the few reference texts by which an encoder is recognised
    assert again.decide_many(pools) == first
    assert Counting.texts == known > 0 < asked


def test_an_embedder_that_is_given_is_used_as_it_is(saved: Path, tmp_path: Path) -> None:
    own = Counting(load_selector(saved).embedder.width)  # type: ignore[attr-defined]
    assert load_selector(saved, own).embedder is own  # type: ignore[attr-defined]


def test_a_network_says_which_encoder_it_needs_and_what_ships_needs_none(saved: Path) -> None:
    found = load_selector(saved).encoder
    assert found is not None
    assert found.spec == "counting"
    assert load_selector().encoder is None


def test_every_kind_of_the_table_is_a_selector_of_that_kind() -> None:
    from importlib import import_module

    for kind, (module, name) in KINDS.items():
        found = getattr(import_module(module), name)
        assert issubclass(found, Selector)
        assert found.kind == kind


def test_the_shipped_selectors_come_by_their_names() -> None:
    for name in ("default", "browsing"):
        assert selector_kind(name) == "meaning"
        assert isinstance(load_selector(name), EvidenceSelector)
    assert selector_digest(None) == selector_digest("default") != selector_digest("browsing")


def test_trace_selector_still_loads_other_kinds_for_one_version_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"use tracerank\.load_selector"):
        assert isinstance(TraceSelector.load("default"), EvidenceSelector)


def test_a_fitted_folder_works_after_a_feature_was_added(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = [pool("Paris", "Paris", "Rome"), pool("A", "B", "B", "C"), pool("one thing", "thing", "other")]
    before = load_selector().decide_many(pools)
    # As a version would compute it that counts one thing more, in the middle of the table.
    known = MEANING_FEATURES.features
    more = FeatureSet(1, "meaning", (*known[:5], Feature("brand_new", "votes", "group", "new"), *known[5:]))
    monkeypatch.setattr(deciding, "MEANING_FEATURES", more)
    monkeypatch.setattr(compute, "COLUMNS", more.names)
    monkeypatch.setattr(compute, "_PLACE_OF", {name: place for place, name in enumerate(more.names)})
    counted = compute.TableBuilder._row

    def with_new(self: compute.TableBuilder, *given: Any) -> tuple[float, ...]:
        row = counted(self, *given)
        return *row[:5], 7.0, *row[5:]

    monkeypatch.setattr(compute.TableBuilder, "_row", with_new)
    again = load_selector()
    assert isinstance(again, EvidenceSelector)
    assert again.model.fitted_on == MEANING_FEATURES.names
    assert again.decide_many(pools) == before
    explained = again.explain(pools[1])
    assert explained.decision == before[1]
    assert np.isfinite([reason.gain for reason in explained.reasons]).all()


def test_a_folder_with_a_feature_that_is_unknown_names_it(tmp_path: Path) -> None:
    load_selector().save(tmp_path)
    about = tmp_path / "selector.json"
    about.write_text(about.read_text().replace('"vote_share"', '"moon_phase"'))
    with pytest.raises(CheckpointError, match="does not know moon_phase; fit again"):
        load_selector(tmp_path)


def test_one_flipped_bit_in_the_weights_is_found(tmp_path: Path) -> None:
    save_model(load_model(folder_of(SHIPPED), columns=MEANING_FEATURES), tmp_path, "meaning")
    weights = tmp_path / "selector.safetensors"
    sound = weights.read_bytes()
    load_selector(tmp_path)
    for place in range(0, len(sound), len(sound) // 40):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << place % 8
        weights.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"selector\.safetensors: damaged"):
            load_selector(tmp_path)


def test_a_folder_made_before_checksums_is_read(tmp_path: Path) -> None:
    save_model(load_model(folder_of(SHIPPED), columns=MEANING_FEATURES), tmp_path, "meaning")
    about = json.loads((tmp_path / ABOUT).read_text())
    del about[CHECKSUMS]
    (tmp_path / ABOUT).write_text(json.dumps(about))
    load_selector(tmp_path)
