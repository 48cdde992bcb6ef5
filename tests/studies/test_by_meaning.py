"""The study by meaning on small pools; ``studies/quality/by_meaning.py`` and the modules beside it."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from studies.quality import by_meaning
from studies.quality.figures import DRAWS, GENERATOR, STRONGEST, Settled, View
from studies.quality.meaning_candidates import (
    CANDIDATES,
    LONGEST,
    RECIPE,
    SHORTEST,
    SeenPools,
    SeenSelector,
    in_forms,
    of_form,
    see,
)
from studies.quality.meaning_tables import ORACLE, Figure, Part, Row, cell_rows, gain_table, markdown, mean_figure
from studies.quality.sanity import further_votes, overturns, repeated
from studies.shipped_weights import meaning_selector
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.meaning_selector import Taught
from studies.shipped_weights.real_pools import MAY_TRAIN
from tests.builders import pool_of, ranked, rollout
from tracerank.answers.exact import normalize_answer
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question, Rollout
from tracerank.selectors.features.fit import FeatureFitPlan
from tracerank.selectors.features.model import FeatureModel, LinearScorer
from tracerank.selectors.meaning.table import MEANING_FEATURES
from tracerank.votes.base import Decision
from tracerank.votes.selector import DEFAULT, load_selector


def weighing(**weights: float) -> FeatureModel:
    """A linear model of these features alone."""
    names = [feature.name for feature in MEANING_FEATURES.features]
    assert weights.keys() <= set(names)
    found = np.array([weights.get(name, 0.0) for name in names])
    return FeatureModel(((LinearScorer(np.zeros(len(names)), np.ones(len(names)), found), 1.0),))


class Place:
    """Chooses by place."""

    def __init__(self, place: int) -> None:
        self.name, self.place = f"place {place}", place

    def decide(self, pool: Pool) -> Decision:
        chosen = pool.rollouts[self.place]
        return Decision(pool.question.id, chosen.answer, chosen.sample_id)


class Answer:
    """Chooses whoever answers this."""

    def __init__(self, answer: str) -> None:
        self.name, self.answer = answer, answer

    def decide(self, pool: Pool) -> Decision:
        found = next((one for one in pool.rollouts if one.answer == self.answer), pool.rollouts[0])
        return Decision(pool.question.id, found.answer, found.sample_id)


def meant(number: int, **labels: float) -> Pool:
    """A pool of these answers by meaning; Paris is the reference."""
    rollouts = [Rollout(place, answer, label=label) for place, (answer, label) in enumerate(labels.items())]
    return Pool.of(Question(str(number), f"Which city is number {number}?", ("Paris",)), rollouts)


def view_of(pools: list[Pool]) -> View:
    methods = {"wordy": Answer("Lutetia"), "vote": Answer("Paris"), "worse": Answer("Rome")}
    settled = Settled(pools, (3,), methods, orders=DRAWS)
    return View(settled, "given", np.ones(len(pools), np.bool_), ("vote", "worse"))


def test_gains_are_over_the_best_vote_by_each_rule() -> None:
    # By meaning the wordy one is right twice and the vote once; by exact match the vote alone is right.
    pools = [meant(0, Paris=1.0, Lutetia=1.0, Rome=0.0), meant(1, Paris=0.0, Lutetia=1.0, Rome=0.0)]
    rows = {
        row.method: row for row in cell_rows("cell", view_of(pools), [(n, STRONGEST) for n in ("wordy", ORACLE)], 3)
    }
    assert (rows["wordy"].meaning.right, rows["wordy"].meaning.gain) == (100, 50)
    assert rows["wordy"].exact is not None
    assert (rows["wordy"].exact.right, rows["wordy"].exact.gain) == (0, -100)
    assert rows[ORACLE].meaning.right == 100
    assert rows["wordy"].questions == 2


def test_the_mean_over_agents_weighs_each_agent_the_same() -> None:
    right, wrong = {"Paris": 0.0, "Lutetia": 1.0, "Rome": 0.0}, {"Paris": 1.0, "Lutetia": 0.0, "Rome": 0.0}
    many, few = view_of([meant(n, **right) for n in range(9)]), view_of([meant(n, **wrong) for n in range(2)])
    found = mean_figure([many, few], "wordy")
    assert (found.right, found.gain, found.low, found.high) == (50, 0, 0, 0)


def test_a_whole_pool_is_judged_in_several_orders() -> None:
    pools = [Pool.of(Question("1", "Which city?", ("Paris",)), [Rollout(n, str(n)) for n in range(6)])]
    once, more = (Settled(pools, (6,), {"first": Place(0)}, **own) for own in ({}, {"orders": DRAWS}))
    assert (len(once.cuts[6]), len(more.cuts[6])) == (1, DRAWS)
    assert len({cut.pool.rollouts[0].answer for cut in more.cuts[6]}) > 1


def test_there_is_no_gain_over_the_best_generator_where_there_is_one() -> None:
    view = view_of([meant(0, Paris=1.0, Lutetia=0.0, Rome=0.0)])
    assert cell_rows("cell", view, [("vote", GENERATOR)], 3) == []
    assert mean_figure([view], "vote", GENERATOR) is None


def test_the_first_model_is_judged_in_other_forms_too() -> None:
    forms = ("July 20, 1969", "20 July 1969", "on 20 July 1969")
    pool = pool_of(*(rollout(answer) for answer in (forms[0], *forms)), question="When was it?")
    methods = list(in_forms({"one": weighing(), "other": weighing()}, SeenPools()))
    assert [method.name for method in methods] == ["one", of_form("one", SHORTEST), of_form("one", LONGEST), "other"]
    assert [method.decide(pool).answer for method in methods] == [*forms, forms[0]]


def test_where_everybody_abstains_the_first_is_returned_and_without_answers_nobody() -> None:
    method = SeenSelector("m", weighing(), SeenPools())
    assert method.decide(pool_of(rollout("I don't know"), rollout("unknown"))).sample_id == 0
    assert method.decide(pool_of(rollout(None), rollout(""))).sample_id is None


def test_what_ships_decides_as_it_does_by_itself() -> None:
    selector = load_selector(DEFAULT)
    method = SeenSelector("shipped", by_meaning.shipped()[by_meaning.SHIPPED], SeenPools())
    for answers in (("Rome", "Oslo", "Oslo"), ("Paris, France", "Paris"), ("no", "yes", "I don't know")):
        pool = pool_of(*(rollout(answer, ranked("capital", "Oslo is the capital.")) for answer in answers))
        assert method.decide(pool).sample_id == selector.decide(pool).sample_id


def test_labels_by_meaning_are_what_is_fitted_on() -> None:
    pytest.importorskip("scipy")
    pools = [
        pool_of(rollout("Rome", label=1.0), rollout("the city of Oslo", label=0.0), question=f"Which city is {n}?")
        for n in range(8)
    ]
    turned = [Pool.of(p.question, [replace(one, label=1 - (one.label or 0)) for one in p.rollouts]) for p in pools]
    plan = CANDIDATES["not monotone"].plan
    decided = [SeenSelector("m", Taught().fit(own, [], plan), SeenPools()).decide(pools[0]) for own in (pools, turned)]
    assert [found.answer for found in decided] == ["Rome", "the city of Oslo"]


def test_exact_labels_are_all_that_sets_their_candidate_apart() -> None:
    exact = [name for name, candidate in CANDIDATES.items() if not candidate.is_judged]
    assert exact == ["exact labels"]
    assert CANDIDATES["exact labels"].plan == CANDIDATES[RECIPE].plan


class Recorder:
    """Fits nothing and remembers what it was to fit on."""

    def __init__(self) -> None:
        self.real: list[list[Pool]] = []

    def fit(self, real: list[Pool], generated: list[Pool], plan: FeatureFitPlan, weight: float) -> FeatureModel:
        assert all(len(pool) == PAPER_K for pool in generated)
        self.real.append(real)
        return weighing()


class FewPools:
    """Five questions of each agent, of which the first is a test question; the last is asked of all."""

    def real(self, name: str) -> list[Pool]:
        asked = [*(f"{name} {number}?" for number in range(4)), "asked of all?"]
        return [Pool.of(Question(text, text, ("Paris",)), [Rollout(0, "Paris"), Rollout(1, name)]) for text in asked]

    def sample(self, pools: list[Pool]) -> list[Pool]:
        return pools

    def is_test(self, pool: Pool) -> bool:
        return "0" in pool.question.text.rpartition(" ")[2]


@pytest.mark.parametrize("left_out", [None, *MAY_TRAIN])
def test_no_model_sees_a_test_question_nor_the_agent_left_out_nor_its_questions(
    left_out: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning_selector, "GENERATED", 2)
    taught = Recorder()
    study = by_meaning.Study(FewPools(), Judgements({}), taught)  # type: ignore[arg-type]
    assert study.models(left_out).keys() == CANDIDATES.keys()
    known = [name for name in MAY_TRAIN if name != left_out]
    expected = {f"{name} {number}?" for name in known for number in (1, 2, 3)}
    expected |= set() if left_out else {"asked of all?"}
    assert all({pool.question.text for pool in real} == expected for real in taught.real)
    assert {one.answer for real in taught.real for pool in real for one in pool.rollouts} == {"Paris", *known}


def test_only_one_candidate_is_fitted_on_exact_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning_selector, "GENERATED", 0)
    taught = Recorder()
    verdicts = {(f"{name} 1?", normalize_answer(name)): True for name in MAY_TRAIN}
    study = by_meaning.Study(FewPools(), Judgements(verdicts), taught)  # type: ignore[arg-type]
    study.models()
    for candidate, real in zip(CANDIDATES.values(), taught.real, strict=True):
        labels = [pool.rollouts[1].label for pool in real if pool.question.text.endswith(" 1?")]
        assert labels == [float(candidate.is_judged)] * len(MAY_TRAIN)


def crowd(lonely: str = "Oslo", label: float = 1.0) -> Pool:
    """Seven for Rome, one for another that alone has evidence; without any a model may not overturn the seven."""
    found = ranked("capital", f"{lonely} is the capital.")
    return pool_of(*(rollout("Rome", label=1 - label) for _ in range(7)), rollout(lonely, found, label=label))


def test_a_small_group_over_a_large_one_is_an_overturn_with_what_it_won() -> None:
    pools = [see(crowd()), see(crowd(label=0.0)), see(pool_of(rollout("Rome"), rollout("Oslo")))]
    found = overturns(weighing(vote_share=-5.0), pools)
    assert (found.pools, found.overturned, found.questions, found.right, found.vote_right) == (2, 2, 1, 1, 1)
    assert overturns(weighing(vote_share=5.0), pools).overturned == 0


def test_a_further_vote_is_a_copy_and_what_it_lowers_is_counted() -> None:
    mixed = pool_of(*(rollout(answer) for answer in ("Rome", "Oslo") for _ in range(4)))
    pairs = [pair for pair in [repeated(see(mixed)), repeated(see(pool_of(rollout("unknown"))))] if pair]
    assert len(pairs) == 1
    assert pairs[0].after.votes.sum() == 9
    assert pairs[0].after.votes[pairs[0].row_after] == pairs[0].before.votes[pairs[0].row] + 1
    harmed, helped = (further_votes(weighing(vote_share=weight), pairs) for weight in (-5.0, 5.0))
    assert (harmed.tried, harmed.lowered) == (1, 1)
    assert helped.lowered == 0


FIGURE = Figure(50.0, 1.0, -1.0, 3.0)


def part(cell: str) -> Part:
    return Part([Row(cell, 10, "ours", FIGURE, FIGURE), Row(cell, 10, "ours", FIGURE, None, "theirs")], [])


def test_a_part_is_kept_and_read_again_as_it_was() -> None:
    assert Part.of_json(json.loads(json.dumps(asdict(part("cell"))))) == part("cell")


def test_tables_say_what_gains_are_over() -> None:
    lines = "\n".join([*gain_table(part("cell").rows), *markdown(part("cell"))])
    assert "| ours | +1.0 [-1.0, +3.0] |" in lines
    assert "| *ours − theirs* | +1.0 [-1.0, +3.0] |" in lines


def test_finished_parts_are_not_measured_again_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def measured(study: object) -> Part:
        ran.append("world")
        return part("world")

    monkeypatch.setattr(by_meaning, "PARTS", {"world": measured})
    for is_again in (False, False, True):
        found = by_meaning.measure(SimpleNamespace(), ["world"], tmp_path, is_again)  # type: ignore[arg-type]
        assert found == {"world": part("world")}
    assert len(ran) == 2


def test_an_unknown_part_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        by_meaning.main([str(tmp_path), "moon"])
    assert "no part is called moon" in capsys.readouterr().err
