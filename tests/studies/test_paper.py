"""The study of the paper's claims: what is tested was not there to learn from, and its worlds are what they are for."""

from pathlib import Path

import numpy as np
import pytest

from studies.paper import questions, records, support
from studies.paper.networks import Run, runs
from studies.paper.page import PAGE, with_tables
from studies.paper.questions import QuestionSet, Sizes, facts_of, learned_facts
from studies.paper.records import Records, baselines, gain, measure
from tracerank.evaluation.bootstrap import intervals
from tracerank.lab.worlds.presets import PRESETS, iter_cases
from tracerank.pools.subsets import is_validation
from tracerank.pools.types import BROWSING, WEBQA


def test_learning_takes_as_many_mixed_pools_of_both_parts_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "VALIDATION", {WEBQA: 4})
    monkeypatch.setattr(questions, "LEARN", {WEBQA: 40})
    made = list(Sizes("scattered", WEBQA, 4, 20).pools())
    assert sum(is_validation(pool.question.text) for pool in made) == 2
    assert len(made) == 22
    assert all(len({rollout.label for rollout in pool.rollouts}) == 2 for pool in made)


def test_a_question_that_shares_a_fact_with_what_was_learned_is_not_tested(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(questions, "MAX_QUESTIONS", {WEBQA: 40})
    learned, preset = learned_facts("paper", WEBQA, tmp_path), PRESETS["paper"][WEBQA]
    assert (learned_facts("paper", WEBQA, tmp_path) == learned).all()
    others = list(questions.tested(preset, learned, 5, 1))
    assert [pool.question.id for pool in others] == [f"2-0000{n}" for n in range(5)]
    monkeypatch.setattr(questions, "TEST_SEED", questions.LEARN_SEED)
    assert not list(questions.tested(preset, learned, 5, 1))
    own = {fact for case, _ in iter_cases(preset, 40, questions.LEARN_SEED, 1) for fact in facts_of(case)}
    assert len(own) == len(learned)


def test_evidence_of_other_rollouts_decides_in_the_scattered_world_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "QUESTIONS", {WEBQA: 300})
    worlds = [support.support(world, WEBQA) for world in ("paper", "scattered")]
    gains = [float((found[support.POOL] - found[support.OWN]).mean()) for found in worlds]
    assert abs(gains[0]) < 0.03 < gains[1]


def test_every_network_of_the_study_has_a_name_of_its_own() -> None:
    names = [run.name for run in runs()]
    assert len(set(names)) == len(names)


def test_a_full_network_is_measured_at_every_k_and_elsewhere_and_a_control_at_its_own() -> None:
    size = Sizes("scattered", BROWSING, 16, 2_655)
    assert [test.agents for test, _ in Run(size).tests()] == ["base", "sft", "rl", "other facts"]
    assert next(ks for _, ks in Run(size).tests()) == (1, 2, 4, 8, 16)
    assert [(test.agents, ks) for test, ks in Run(size, "no-gnn").tests()] == [("base", [16])]


def test_what_has_records_is_not_measured_again_and_other_questions_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(questions, "MAX_QUESTIONS", {WEBQA: 40})
    monkeypatch.setattr(questions, "TEST_QUESTIONS", 12)
    test, ks = QuestionSet("paper", WEBQA, ks=(1, 4)), (1, 4)
    kept = Records(tmp_path / "records.csv")
    measure(test, baselines(), ks, tmp_path, kept)
    read = Records(tmp_path / "records.csv")
    for method in (*baselines(), records.VOTE, records.MEAN_SINGLE, records.ORACLE):
        assert read.has(test, ks, method)
        assert np.allclose(read.get(test, 4, method), kept.get(test, 4, method))
    assert set(np.unique(read.get(test, 4, records.MEAN_SINGLE))) <= {0, 0.25, 0.5, 0.75, 1}
    written = kept.path.read_bytes()
    measure(test, baselines(), ks, tmp_path, read)
    assert kept.path.read_bytes() == written
    monkeypatch.setattr(questions, "TEST_SEED", 7)
    with pytest.raises(ValueError, match="other questions"):
        measure(test, {"another": baselines()["fewest-tools"]}, ks, tmp_path, read)


def test_an_interval_from_counts_of_values_is_the_paired_bootstraps() -> None:
    rng = np.random.default_rng(1)
    values, over = rng.integers(0, 2, 2_000).astype(float), rng.integers(0, 2, 2_000).astype(float)
    bounds = intervals((values - over)[:, None])
    mean, low, high = gain(values, over)
    assert mean == pytest.approx(100 * (values - over).mean(), abs=0.05)
    assert (low, high) == pytest.approx((100 * bounds.low[0], 100 * bounds.high[0]), abs=0.2)


def test_the_page_has_the_tables_of_the_records() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text) == text
