"""The study of the paper's claims: what is tested was not there to learn from, and its worlds are what they are for."""

from pathlib import Path

import pytest

from studies.paper import questions, support
from studies.paper.networks import runs
from studies.paper.questions import Sizes, facts_of, learned_facts
from tracerank.lab.worlds.presets import PRESETS, iter_cases
from tracerank.pools.subsets import is_validation
from tracerank.pools.types import WEBQA


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
