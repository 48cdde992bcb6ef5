"""The ladder on pools with a planted signal and without any: who wins, that nothing leaks, and that it goes on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.builders import pool_of, ranked, rollout
from tests.worlds import generate_pools, planted_pools
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import TrainingError, UsageError
from tracerank.evaluation.records import read_evaluation
from tracerank.evaluation.scores import score_matrix
from tracerank.fitting import networks as ladder_networks
from tracerank.fitting.folder import FitFolder, conclusion, fit_table
from tracerank.fitting.ladder import Ladder, labelled_pools
from tracerank.fitting.rule import VOTE, WHOLE, Outcomes, judge
from tracerank.fitting.rungs import Rung, feature_rungs
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.selectors.gate.selector import CalibratedVote, GatedSelector
from tracerank.selectors.plus.fit import PlusPlan
from tracerank.votes.base import Decision

pytest.importorskip("scipy")
CITIES = ("Paris", "Rome", "Oslo", "Bern", "Riga", "Kyiv")


def cited(count: int, seed: int = 0, is_told: bool = True) -> list[Pool]:
    """Pools with four answers, one right: the one that stands in its own evidence, or (noise) any of them."""
    rng = Random(seed)
    pools = []
    for number in range(count):
        right, *wrong = answers = rng.sample(CITIES, 4)
        rng.shuffle(answers)
        told = right if is_told else rng.choice(answers)
        rollouts = [
            rollout(
                city, ranked(f"q{number}", f"It is {city}." if city == told else "Nothing."), label=city not in wrong
            )
            for city in answers
        ]
        pools.append(pool_of(*rollouts, question=f"Which city is number {number} of {seed}?"))
    return pools


def linear_only(pools: Sequence[Pool]) -> tuple[Rung, ...]:
    return feature_rungs(pools, 0)[:1]


class Told:
    """A selector that knows what it learned from, and guesses elsewhere."""

    name = "told"

    def __init__(self, known: Sequence[Pool]) -> None:
        self.known = {pool.question.id: pool for pool in known}

    def decide(self, pool: Pool) -> Decision:
        rollouts = self.known.get(pool.question.id, pool).rollouts
        best = max(rollouts, key=lambda one: (pool.question.id in self.known) * (one.label or 0))
        return Decision(pool.question.id, best.answer, best.sample_id, {best.sample_id: 1.0})

    def save(self, folder: str | Path) -> None: ...


def by_heart(pools: Sequence[Pool], fits: list[list[int]] | None = None) -> Rung:
    def fit(places: Sequence[int], folder: Path) -> Told:
        if fits is not None:
            fits.append(list(places))
        return Told([pools[place] for place in places])

    return Rung("by-heart", "learns labels by heart", fit)


def test_a_signal_that_the_features_see_wins_and_is_right_on_new_questions(tmp_path: Path) -> None:
    pools = cited(60)
    fitted = Ladder(pools, linear_only(pools), 5, 0, tmp_path).run()
    assert fitted.verdict.winner == "meaning"
    row = fitted.verdict.row("meaning")
    assert (row.low or 0) > 0.3
    assert row.gated == row.gated_group == 1.0
    new = cited(40, seed=1)
    assert all((fitted.selector.decide(pool).answer or "") in _right(pool) for pool in new)


def _right(pool: Pool) -> set[str]:
    return {rollout.answer or "" for rollout in pool.rollouts if rollout.label}


@pytest.mark.parametrize("seed", range(3))
def test_noise_returns_the_vote_with_a_confidence(seed: int, tmp_path: Path) -> None:
    pools = cited(60, seed, is_told=False)
    fitted = Ladder(pools, linear_only(pools), 5, 0, tmp_path).run()
    assert fitted.verdict.winner == VOTE
    assert isinstance(fitted.selector, CalibratedVote)
    confidence = fitted.selector.decide(pools[0]).confidence
    assert confidence == pytest.approx(0.25, abs=0.15)


def test_shuffled_labels_give_no_gain_beyond_the_interval(tmp_path: Path) -> None:
    rng = Random(0)
    pools = []
    for pool in generate_pools(60, seed=4, k=6):
        marks = [float(one.label or 0) for one in pool.rollouts]
        rng.shuffle(marks)
        rollouts = [replace(one, label=mark) for one, mark in zip(pool.rollouts, marks, strict=True)]
        pools.append(Pool.of(replace(pool.question, references=()), rollouts))
    whole = Ladder(labelled_pools(pools).pools, feature_rungs(pools, 0), 5, 0, tmp_path).run().verdict.row(WHOLE)
    assert (whole.low or 0) <= 0


def test_what_was_learned_by_heart_counts_for_nothing(tmp_path: Path) -> None:
    pools = cited(60, is_told=False)
    verdict = Ladder(pools, [by_heart(pools)], 5, 0, tmp_path).run().verdict
    assert (verdict.row("by-heart").alone or 0) < 0.5
    assert verdict.winner == VOTE


def test_the_better_vote_is_chosen_without_looking_at_the_fold(tmp_path: Path) -> None:
    """Where each fold is served by another form, whoever looks only at the other fold is always wrong."""

    def asked(number: int, right: str) -> Pool:
        answers = ("15 May 1990", "May 15th, 1990")
        return pool_of(*(rollout(one, label=one == right) for one in answers), question=f"When was number {number}?")

    folds = Ladder([asked(n, "") for n in range(40)], [], 2, 0, tmp_path).folds
    served = ("15 May 1990", "May 15th, 1990")
    pools = [asked(number, served[fold]) for number, fold in enumerate(folds.tolist())]
    verdict = Ladder(pools, [], 2, 0, tmp_path).run().verdict
    assert verdict.row("majority-default-shortest").alone == verdict.row("majority-default-longest").alone == 0.5
    assert verdict.row(VOTE).alone == 0.0
    assert verdict.row(VOTE).alone_group == 1.0


def test_a_question_in_another_spelling_stays_in_the_same_fold(tmp_path: Path) -> None:
    spelled = [f"What is the height of mountain {number}?" for number in range(30)]
    pools = [pool_of(rollout("1 m", label=1.0), question=text) for text in spelled]
    pools += [pool_of(rollout("1 m", label=1.0), question=text.upper().replace("?", " ?!")) for text in spelled]
    ladder = Ladder(pools, [], 5, 0, tmp_path)
    assert ladder.folds[:30].tolist() == ladder.folds[30:].tolist()
    assert ladder.questions == 30
    assert set(ladder.folds.tolist()) == set(range(5))


def test_an_interrupted_run_fits_only_what_is_missing_and_ends_the_same(tmp_path: Path) -> None:
    pools = cited(30)
    fits: list[list[int]] = []
    rungs = [by_heart(pools, fits)]

    def stop(what: str) -> None:
        if "fold 4" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Ladder(pools, rungs, 5, 0, tmp_path / "one").run(stop)
    assert len(fits) == 3
    resumed = Ladder(pools, rungs, 5, 0, tmp_path / "one").run()
    assert len(fits) == 5
    assert all(len(places) == 24 for places in fits)
    whole = Ladder(pools, rungs, 5, 0, tmp_path / "two").run()
    assert replace(resumed.verdict, rows=()) == replace(whole.verdict, rows=())
    timeless = [[replace(row, seconds=None) for row in one.verdict.rows] for one in (resumed, whole)]
    assert timeless[0] == timeless[1]


def test_a_rung_that_cannot_be_fitted_is_a_row_with_a_reason(tmp_path: Path) -> None:
    def fit(places: Sequence[int], folder: Path) -> Told:
        raise TrainingError("needs a bigger boat")

    pools = cited(30)
    verdict = Ladder(pools, [Rung("boat", "", fit), *linear_only(pools)], 3, 0, tmp_path).run().verdict
    assert verdict.row("boat").problem == "needs a bigger boat"
    assert verdict.winner == "meaning"


def test_a_handful_of_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="3 questions with labels are too few"):
        Ladder(cited(3), [], 5, 0, tmp_path)


def test_pools_that_are_not_judged_throughout_are_left_out() -> None:
    known = Pool.of(Question("a", "?", ("x",)), [Rollout(0, "x"), Rollout(1, "y"), Rollout(2, None)])
    partly = Pool.of(Question("b", "?"), [Rollout(0, "x", label=1.0), Rollout(1, "y")])
    unknown = Pool.of(Question("c", "?"), [Rollout(0, "x"), Rollout(1, None)])
    found = labelled_pools([known, partly, unknown])
    assert [one.label for one in found.pools[0].rollouts] == [1.0, 0.0, 0.0]
    assert len(found.pools) == 1
    assert found.left_out == {"some answers without a label": 1, "no label": 1}


# The rule.


def outcomes(**right: Sequence[float]) -> list[Outcomes]:
    """By name, the share of questions that are right in each of two kinds; ``vote`` is first."""
    made = []
    for name, values in right.items():
        array = np.array(values, np.float64)
        is_vote = name == "vote"
        made.append(
            Outcomes(VOTE if is_vote else name, array, array, array, array, array * 0, seconds=None if is_vote else 1.0)
        )
    return made


def winner(questions: int, **right: Sequence[float]) -> str:
    found = outcomes(**right)
    return judge(found, np.arange(len(found[0].gated)) % 5, questions).winner


HALF = [1.0, 0.0] * 50


def test_the_simplest_within_one_standard_error_wins() -> None:
    much, bit_more = [1.0] * 40 + HALF[40:], [1.0] * 42 + HALF[42:]
    assert winner(100, vote=HALF, simple=much, complex=bit_more) == "simple"
    assert winner(100, vote=HALF, simple=HALF, complex=much) == "complex"
    assert winner(100, vote=HALF, simple=HALF, complex=[*HALF[:-2], 1.0, 1.0]) == VOTE


def test_few_questions_need_a_gain_beyond_chance() -> None:
    better = [1.0] * 4 + [1.0, 0.0] * 18
    assert winner(40, vote=[1.0, 0.0] * 20, simple=better) == VOTE
    assert winner(60, vote=[1.0, 0.0] * 20, simple=better) == "simple"
    assert winner(40, vote=[1.0, 0.0] * 20, simple=[1.0] * 40) == "simple"


def test_the_row_of_the_whole_picks_on_each_fold_by_the_others() -> None:
    """A rung that is only good on one fold is not picked there; elsewhere it is, and does nothing."""
    folds = np.repeat(np.arange(5), 20)
    lucky = np.where(folds == 0, 1.0, np.array(HALF))
    found = outcomes(vote=HALF, lucky=lucky.tolist())
    verdict = judge(found, folds, 100)
    assert verdict.winner == "lucky"
    assert verdict.row(WHOLE).against == 0.0


# The folder.


def written(folder: Path, pools: list[Pool], seed: int = 0) -> dict[str, object]:
    out = FitFolder(folder, {"seed": seed})
    data = labelled_pools(pools)
    return out.write(Ladder(data.pools, linear_only(data.pools), 3, 0, out.work).run(), data)


def test_the_folder_holds_a_selector_its_records_and_what_to_expect(tmp_path: Path) -> None:
    report = written(tmp_path, cited(60))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "README.md", "fitted-on.bin", "records", "report.json", "selector", "selector.json",
    ]  # fmt: skip
    assert json.loads((tmp_path / "report.json").read_text()) == report
    assert isinstance(load_selector(tmp_path), GatedSelector)
    assert load_selector(tmp_path).encoder is None
    matrix = score_matrix([read_evaluation(tmp_path / "records")])
    assert matrix.values("meaning", 4).mean() == 1.0
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("---\nlibrary_name: tracerank\n")  # where a hub looks for it
    assert "60 questions, 60 labelled pools" in readme
    assert all(line in readme for line in conclusion(report))
    assert fit_table(report).rows[-1][0] == WHOLE


def test_a_vote_is_saved_like_anything_else(tmp_path: Path) -> None:
    report = written(tmp_path, cited(60, is_told=False))
    assert report["winner"] == VOTE
    assert isinstance(load_selector(tmp_path), CalibratedVote)


def test_too_few_questions_are_said_to_be_too_few(tmp_path: Path) -> None:
    text = " ".join(conclusion(written(tmp_path, cited(30, is_told=False))))
    assert "30 questions are too few to tell" in text
    assert "The result is the vote" in text


def test_a_finished_fit_is_found_again_and_another_is_refused(tmp_path: Path) -> None:
    report = written(tmp_path, cited(20))
    assert FitFolder(tmp_path, {"seed": 0}).finished == report
    with pytest.raises(UsageError, match="--force"):
        FitFolder(tmp_path, {"seed": 1})
    assert FitFolder(tmp_path, {"seed": 1}, force=True).finished is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        FitFolder(tmp_path, {})
    with pytest.raises(UsageError, match="not empty"):
        FitFolder(tmp_path, {}, force=True)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


# Networks.


def test_networks_are_rungs_like_any_other_and_share_what_they_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Path] = []
    real = ladder_networks.train
    monkeypatch.setattr(ladder_networks, "FEWEST_EPOCHS", 1)
    monkeypatch.setattr(ladder_networks, "STEPS", 2)
    monkeypatch.setattr(ladder_networks, "PlusPlan", partial(PlusPlan, epochs=1, seeds=1))
    monkeypatch.setattr(ladder_networks, "train", lambda *given: trained.append(given[-1]) or real(*given))
    pools = labelled_pools(planted_pools(32, 0, "own")).pools
    rungs = ladder_networks.network_rungs(pools, HashEmbedder(32), 0, tmp_path)
    verdict = Ladder(pools, rungs, 2, 0, tmp_path).run().verdict
    assert {rung.name for rung in rungs} == {"trace-marks", "trace-paper", "trace-plus", "stack"}
    assert all(verdict.row(rung.name).gated is not None for rung in rungs)
    # Two folds of TRACE, which the stack takes over, and two halves of each.
    assert len(trained) == len(set(trained)) >= 6
    for rung in rungs:
        rung.fit(range(16), tmp_path / "x").save(tmp_path / rung.name)
        assert (load_selector(tmp_path / rung.name).encoder is None) == (rung.name == "trace-marks")
        load_selector(tmp_path / rung.name, HashEmbedder(32)).decide(pools[0])


def test_too_few_mixed_pools_for_a_network_are_a_reason(tmp_path: Path) -> None:
    pools = planted_pools(6, 0, "own")
    trace = ladder_networks.network_rungs(pools, HashEmbedder(32), 0, tmp_path)[1]
    with pytest.raises(TrainingError, match="TRACE needs 8 pools with right and wrong answers, found 6"):
        trace.fit(range(6), tmp_path)
