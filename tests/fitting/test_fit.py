"""``fit`` from labelled pools to a folder: what is chosen, what it holds, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import tracerank as tr
from tests.builders import pool, pool_of, ranked, rollout
from tracerank.errors import UsageError
from tracerank.evaluation.labels import Labelling
from tracerank.evidence.selector import EvidenceSelector
from tracerank.fitting.candidates import FREE, MONOTONE, SHIPPED, VOTE, candidates_for
from tracerank.fitting.fit import fit, labelled_pools
from tracerank.fitting.nested import FIT, Comparison, NestedValidation
from tracerank.methods import load_selector
from tracerank.votes.folders import fitted_on

CITIES = ("Paris", "Rome", "Oslo", "Bern", "Riga", "Kyiv")


def cited(count: int, seed: int = 0, shows: str = "right") -> list[tr.Pool]:
    """Pools of four answers, one right; one answer stands in its own evidence: the right one, a wrong one, or any."""
    rng = Random(seed)
    pools = []
    for number in range(count):
        right, *wrong = answers = rng.sample(CITIES, 4)
        rng.shuffle(answers)
        cited = {"right": right, "wrong": wrong[0], "any": rng.choice(answers)}[shows]
        said = f"City number {number}: {cited}."
        rollouts = (
            rollout(city, ranked(f"q{number}", said if city == cited else "Nothing."), label=city == right)
            for city in answers
        )
        pools.append(pool_of(*rollouts, question=f"Which city is number {number} of {seed}?"))
    return pools


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit on pools that what ships decides rightly."""
    folder = tmp_path_factory.mktemp("fit") / "mine"
    fit(cited(40), folder, folds=3)
    return folder


def test_what_ships_is_kept_where_nothing_is_surely_better(kept: Path) -> None:
    report = json.loads((kept / "report.json").read_text())
    assert (report["winner"], report["picked"]) == (SHIPPED, SHIPPED)
    saved, shipped = load_selector(kept), load_selector(SHIPPED)
    assert isinstance(saved, EvidenceSelector)
    assert isinstance(shipped, EvidenceSelector)
    assert saved.model == shipped.model
    assert all(one in fitted_on(kept) for one in cited(40))
    readme = (kept / "README.md").read_text()
    assert readme.startswith("---\nlibrary_name: tracerank\n")  # where a hub looks for it
    assert "Kept: what ships, since nothing is surely better." in readme


def test_a_finished_fit_is_replaced_only_by_force(kept: Path, tmp_path: Path) -> None:
    rows = json.loads((kept / "report.json").read_text())["rows"]
    assert [row["name"] for row in rows] == [VOTE, SHIPPED, MONOTONE, FREE, FIT]
    with pytest.raises(UsageError, match="--force"):
        fit([], kept)
    folder = tmp_path / "mine"
    fit(cited(20), folder, folds=2)
    fit(cited(40), folder, folds=3, force=True)
    assert contents(folder) == contents(kept)


def test_a_folder_with_anything_else_is_refused_also_by_force(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    for force in (False, True):
        with pytest.raises(UsageError, match="not empty"):
            fit([], tmp_path, force=force)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_an_interrupted_fit_ends_in_the_same_bytes(kept: Path, tmp_path: Path) -> None:
    def stop(text: str) -> None:
        if text == "confidence":
            raise KeyboardInterrupt

    folder = tmp_path / "mine"
    with pytest.raises(KeyboardInterrupt):
        fit(cited(40), folder, folds=3, on_step=stop)
    folder.mkdir(exist_ok=True)
    (folder / "selector.json").write_text("{}")  # as a kill between two files would leave it
    fit(cited(40), folder, folds=3)
    assert contents(folder) == contents(kept)


def test_free_signs_win_where_evidence_speaks_against_an_answer(tmp_path: Path) -> None:
    report = fit(cited(60, shows="wrong"), tmp_path / "mine", folds=3)
    assert report.values["winner"] == FREE
    assert "Kept: free refit, which is surely better than what ships" in " ".join(report.conclusion())
    rows = {row["name"]: row for row in report.values["rows"]}
    assert rows[FIT]["low"] > 0
    assert rows[FIT]["accuracy"] > rows[MONOTONE]["accuracy"]
    new = cited(20, seed=9, shows="wrong")
    decisions = load_selector(tmp_path / "mine").decide_many(new)
    right = [one.rollouts[decision.sample_id or 0].label for one, decision in zip(new, decisions, strict=True)]
    assert sum(filter(None, right)) >= 3  # what ships takes the cited answer, which is always wrong


def test_nothing_wins_on_noise(tmp_path: Path) -> None:
    assert fit(cited(30, shows="any"), tmp_path / "mine", folds=3).values["winner"] == SHIPPED


def test_candidates_decide_on_what_was_computed_as_their_selectors_do_on_pools() -> None:
    pools = cited(12)
    for candidate in candidates_for(pools):
        selector = candidate.fit(range(8))
        assert [candidate.decide(selector, index) for index in range(12)] == selector.decide_many(pools)
    alike = [pool_of(rollout("a", label=1.0), rollout("a", label=1.0), question=f"{n}?") for n in range(3)]
    shipped, refit = (candidate.fit(range(3)) for candidate in candidates_for(alike)[1:3])
    assert refit.model == shipped.model  # nothing to learn a choice from


def test_no_label_of_a_fold_reaches_what_the_candidates_decide_on_it() -> None:
    pools = [*cited(20, shows="any"), *cited(20, 1, "wrong")]

    def decided(given: list[tr.Pool]) -> tuple[NestedValidation, Comparison]:
        validation = NestedValidation(given, candidates_for(given), 2)
        return validation, validation.run()

    validation, before = decided(pools)
    train, held_out = validation.parts[0]
    changed = list(pools)
    for index in held_out:
        rollouts = (replace(one, label=1 - (one.label or 0)) for one in pools[index].rollouts)
        changed[index] = tr.Pool.of(pools[index].question, rollouts)
    _, after = decided(changed)
    for name in before.decisions:
        assert [before.decisions[name][at] for at in held_out] == [after.decisions[name][at] for at in held_out]
    assert any(before.decisions[FREE][at] != after.decisions[FREE][at] for at in train)


def test_pools_without_all_labels_are_left_out_with_a_reason() -> None:
    half = pool_of(rollout("a", label=1.0), rollout("b"), question="half?")
    kept, left_out = labelled_pools([*cited(2), pool("a", "b"), pool(), half], Labelling("given"))
    assert (len(kept), left_out) == (2, {"no label": 2, "some answers without a label": 1})
    with pytest.raises(UsageError, match="none of 1 questions is labelled"):
        labelled_pools([pool("a")], Labelling())
