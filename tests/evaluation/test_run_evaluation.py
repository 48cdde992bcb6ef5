"""The whole work of ``tracerank evaluate``: labels, what is left out, failures, resuming, and what is said of it."""

import json
from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.folders import Confident, First, asked
from tracerank.errors import ChatError, UsageError
from tracerank.evaluation.labels import Labelling
from tracerank.evaluation.records import read_records
from tracerank.evaluation.report import make_report
from tracerank.evaluation.run import Summary, run_evaluation
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import Split
from tracerank.pools.types import Question, Rollout
from tracerank.votes.base import Decision
from tracerank.votes.voting import MajorityVote

POOLS = [asked(str(number), "y" if number % 3 else "x", "x") for number in range(6)]
BARE = Pool.of(Question("bare", "?"), [Rollout(0, "x")])


def run(
    pools: list[Pool] = POOLS,
    folder: Path | None = None,
    methods: tuple[Any, ...] = (MajorityVote(),),
    ks: tuple[int, ...] = (1, 2),
    **options: Any,
) -> Summary:
    return run_evaluation(methods, [(None, pools)], ks, Labelling(), folder=folder, **options)


class Broken:
    """Fails on some questions: by itself, or because its server does."""

    name = "broken"

    def __init__(self, on: Container[str], *, is_server: bool) -> None:
        self.on, self.is_server = on, is_server
        self.asked: list[str] = []

    def decide(self, pool: Pool) -> Decision:
        self.asked.append(pool.question.id)
        if pool.question.id in self.on:
            raise ChatError("busy") if self.is_server else RuntimeError("oops")
        return Decision(pool.question.id, pool.rollouts[-1].answer, pool.rollouts[-1].sample_id)


class FittedOn:
    """The first two questions."""

    def __contains__(self, pool: object) -> bool:
        return isinstance(pool, Pool) and pool.question.id in ("0", "1")


class Everything:
    def __contains__(self, pool: object) -> bool:
        return True


def keys(folder: Path) -> list[tuple[object, ...]]:
    return [record.key for record in read_records(folder)]


def test_rows_sentences_and_the_record_are_those_of_the_labelled_questions(tmp_path: Path) -> None:
    found = run([*POOLS, BARE], tmp_path / "e", ks=(2, 4))
    assert {(row.method, row.k): row.accuracy for row in found.rows}["single", 2] == pytest.approx(1 / 3)
    assert found.sentences[0].startswith("labels: by meaning (references; --labels em for exact match)")
    assert found.notes == [
        "1 questions have neither a label nor a reference; they are left out",
        "fewer rollouts than K: 6 questions at K=4",
    ]
    assert not found.has_failures
    assert found.record()["rows"][0]["questions"] == 6
    assert json.loads((tmp_path / "e" / "labels.json").read_text()) == found.labelling.record()


@pytest.mark.parametrize("pools", [[BARE], []], ids=["no label", "no pool"])
def test_without_a_label_it_ends_in_a_line_and_leaves_no_folder(pools: list[Pool], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has a label or a reference; nothing to compare"):
        run(pools, tmp_path / "e")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_resumes_and_ends_in_the_records_of_an_undisturbed_one(tmp_path: Path) -> None:
    class Killed(First):
        def decide(self, pool: Pool) -> Decision:
            if pool.question.id == "4":
                raise KeyboardInterrupt
            return super().decide(pool)

    whole = run(folder=tmp_path / "whole", methods=(First(),))
    with pytest.raises(KeyboardInterrupt):
        run(folder=tmp_path / "killed", methods=(Killed(),))
    assert 0 < len(keys(tmp_path / "killed")) < len(keys(tmp_path / "whole"))
    again = run(folder=tmp_path / "killed", methods=(First(),))
    assert keys(tmp_path / "killed") == keys(tmp_path / "whole")
    assert again.rows == whole.rows
    names = {"config.json", "labels.json", "questions.jsonl", "records.jsonl"}
    assert {path.name for path in (tmp_path / "killed").iterdir()} == names


def test_a_complete_run_decides_nothing_again(tmp_path: Path) -> None:
    method = Broken((), is_server=False)
    first, again = (run(folder=tmp_path / "e", methods=(method,)) for _ in range(2))
    assert len(method.asked) == 2 * len(POOLS)
    assert again.rows == first.rows


def test_a_server_that_failed_is_in_no_figure_and_is_asked_again(tmp_path: Path) -> None:
    method = Broken({"2"}, is_server=True)
    found = run(folder=tmp_path / "e", methods=(method,), ks=(2,), on_failure=lambda pool, why: None)
    assert found.has_failures
    assert found.failures == [
        "broken: 1 of 6 decisions failed, the first because busy; they are not in its figures; the same command tries "
        "them again"
    ]
    assert [(row.questions, row.unjudged) for row in found.rows if row.method == "broken"] == [(5, 1)]
    method.on = ()
    again = run(folder=tmp_path / "e", methods=(method,), ks=(2,), on_failure=lambda pool, why: None)
    assert [row.questions for row in again.rows if row.method == "broken"] == [6]
    assert not again.has_failures
    assert len(keys(tmp_path / "e")) == len(set(keys(tmp_path / "e"))) == 3 * 6
    assert method.asked.count("0") == 1


def test_a_method_that_failed_counts_as_wrong() -> None:
    reported: list[str] = []
    found = run(methods=(Broken({"2"}, is_server=False),), ks=(2,), on_failure=lambda pool, why: reported.append(why))
    assert [row.accuracy for row in found.rows if row.method == "broken"] == [pytest.approx(5 / 6)]
    assert "they count as wrong" in found.failures[0]
    assert len(reported) == 1


def test_questions_that_were_fitted_on_are_left_out_unless_included(tmp_path: Path) -> None:
    found = run(fitted=FittedOn(), folder=tmp_path / "a")
    assert found.rows[0].questions == 4
    assert found.sentences[-1] == (
        "2 of these 6 questions were fitted on; only the other 4 are judged (--include-fitted judges all)"
    )
    found = run(fitted=FittedOn(), include_fitted=True, folder=tmp_path / "b")
    assert found.rows[0].questions == 6
    assert "too good" in found.sentences[-1]
    assert "too good" in (make_report([tmp_path / "b"]).warning or "")
    with pytest.raises(UsageError, match="all 6 questions were fitted on"):
        run(fitted=Everything())


def test_of_a_split_only_what_it_holds_out_is_judged() -> None:
    assert run(split=Split(named=frozenset({"1", "2"}))).rows[0].questions == 2
    with pytest.raises(UsageError, match="holds out none of 6 questions"):
        run(split=Split(named=frozenset({"other"})))


def test_methods_that_had_nothing_to_weigh_by_are_mentioned() -> None:
    from tracerank.votes.voting import NO_CONFIDENCE

    class Unweighted(Confident):
        def decide(self, pool: Pool) -> Decision:
            return Decision(pool.question.id, "x", 1, note=NO_CONFIDENCE, counts={"asked again": 1})

    first, second = run(methods=(Unweighted(),)).notes
    assert first.startswith("confident: no rollout states a confidence, so it equals the majority vote")
    assert second == "confident: of 12 decisions 12 asked again"
