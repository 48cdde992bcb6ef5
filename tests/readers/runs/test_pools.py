"""Parsed rollouts to pools: belonging together, numbering, duplicates, the window."""

from collections.abc import Iterable
from typing import Any

import pytest

from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.readers.base import Parsed, Problem, Record, RecordAt, reject
from tracerank.readers.runs import pools as grouping
from tracerank.readers.runs.pools import Placed, group, parse_record

SIZE = 100


def placed(
    question: str,
    sample: int | None,
    answer: str | None = "Paris",
    text: str = "",
    line: int = 0,
    **question_fields: Any,
) -> Placed:
    """A rollout of 100 bytes; ``sample=None`` is unnumbered, ``text`` defaults to the question's id."""
    asked = Question(question, text or f"{question}?", **question_fields)
    return Placed(Parsed(asked, Rollout(sample or 0, answer), sample is not None), f"f:{line}", SIZE)


def grouped(items: Iterable[Placed], window_bytes: int | None = None) -> tuple[list[Pool], list[str]]:
    problems: list[Problem] = []
    pools = list(group(items, problems.append, window_bytes))
    return pools, [str(problem) for problem in problems]


def shape(pools: list[Pool]) -> dict[str, list[int]]:
    return {pool.question.id: [rollout.sample_id for rollout in pool.rollouts] for pool in pools}


def test_rollouts_are_grouped_whatever_their_order_and_pools_keep_that_of_appearance() -> None:
    items = [placed("b", 1), placed("a", 0), placed("b", 0), placed("c", 5), placed("a", 1)]
    pools, problems = grouped(items)
    assert list(shape(pools).items()) == [("b", [0, 1]), ("a", [0, 1]), ("c", [5])]
    assert problems == []


def test_unnumbered_rollouts_take_the_free_ids_in_file_order() -> None:
    items = [placed("q", None, "x"), placed("q", 1, "y"), placed("q", None, "z"), placed("q", None, "x")]
    (pool,), problems = grouped(items)
    assert [(rollout.sample_id, rollout.answer) for rollout in pool.rollouts] == [
        (0, "x"),
        (1, "y"),
        (2, "z"),
        (3, "x"),
    ]
    assert problems == []


def test_a_repeated_rollout_is_dropped_and_reported() -> None:
    (pool,), problems = grouped([placed("q", 3, line=1), placed("q", 3, line=9)])
    assert [rollout.sample_id for rollout in pool.rollouts] == [3]
    assert problems == ["f:9: rollout 3 repeats f:1; the repetition was dropped"]


def test_a_different_rollout_with_a_used_id_moves_above_the_largest() -> None:
    items = [placed("q", 0, "x", line=1), placed("q", 0, "y", line=2), placed("q", 1, "z"), placed("q", None, "w")]
    (pool,), problems = grouped(items)
    assert {rollout.answer: rollout.sample_id for rollout in pool.rollouts} == {"x": 0, "z": 1, "w": 2, "y": 3}
    assert problems == ["f:2: rollout 0 differs from f:1 with the same id; it is now 3"]


def test_reading_the_same_rollouts_twice_changes_nothing() -> None:
    items = [placed("q", 0, "x", line=1), placed("q", 0, "y", line=2), placed("q", 1, "z", line=3)]
    once, twice = grouped(items)[0], grouped([*items, *items])[0]
    assert once == twice


def test_a_good_retry_takes_the_place_of_a_broken_rollout() -> None:
    broken = Placed(Parsed(Question("q", ""), Rollout(0, None, problem="cut")), "f:1", SIZE)
    (pool,), _ = grouped([broken, placed("q", 0, "x")])
    assert [(rollout.sample_id, rollout.answer, rollout.problem) for rollout in pool.rollouts] == [
        (0, "x", None),
        (1, None, "cut"),
    ]


def test_another_question_under_the_same_id_gets_a_pool_of_its_own() -> None:
    items = [
        placed("7", 0, text="Who?", line=1),
        placed("7", 0, text="When?", line=2),
        placed("7", 1, text=" Who? "),
        placed("7", 1, text="When?"),
        placed("7", 0, text="Where?", line=5),
    ]
    pools, problems = grouped(items)
    assert shape(pools) == {"7": [0, 1], "7~2": [0, 1], "7~3": [0]}
    assert [pool.question.text for pool in pools] == ["Who?", "When?", "Where?"]
    assert problems == [
        "f:2: question id '7' was used before for another question; this one is kept as '7~2'",
        "f:5: question id '7' was used before for another question; this one is kept as '7~3'",
    ]


def test_an_invented_id_never_meets_a_real_one() -> None:
    items = [placed("7", 0, text="Who?"), placed("7~2", 0), placed("7", 0, text="When?"), placed("7~3", 0)]
    assert list(shape(grouped(items)[0])) == ["7", "7~2", "7~3", "7~3~2"]


def test_a_rollout_without_question_text_joins_the_first_pool_of_its_id() -> None:
    bare = Placed(Parsed(Question("7", ""), Rollout(2, "x")), "f:3", SIZE)
    pools, _ = grouped([placed("7", 0, text="Who?"), placed("7", 0, text="When?"), bare])
    assert shape(pools) == {"7": [0, 2], "7~2": [0]}
    pools, _ = grouped([bare, placed("7", 0, text="Who?")])
    assert (shape(pools), pools[0].question.text) == ({"7": [0, 2]}, "Who?")


def test_a_pool_without_any_question_text_is_reported() -> None:
    _, problems = grouped([Placed(Parsed(Question("7", ""), Rollout(2, "x")), "f:3", SIZE)])
    assert problems == ["f:3: question '7' has no text; expected it in at least one of its rollouts"]


def test_the_first_references_win_and_a_conflict_is_reported_once() -> None:
    items = [
        placed("q", 0),
        placed("q", 1, references=("Paris",), line=1),
        placed("q", 2, references=("the paris",), line=2),
        placed("q", 3, references=("Rome",), line=3),
        placed("q", 4, references=("Oslo",), line=4),
    ]
    (pool,), problems = grouped(items)
    assert pool.question.references == ("Paris",)
    [problem] = problems
    assert problem.startswith("f:3: question 'q' has other references than at f:0; the first ones are used")


def test_references_of_a_pool_make_no_labels() -> None:
    answers = ["the PARIS.", "Rome", "", None, "the"]
    items = [placed("q", number, answer) for number, answer in enumerate(answers)]
    items.append(placed("q", 5, references=("Paris", "City of Light"), dataset="nq"))
    (pool,), _ = grouped(items)
    assert (pool.question.dataset, pool.question.references) == ("nq", ("Paris", "City of Light"))
    assert {rollout.label for rollout in pool.rollouts} == {None}


def test_known_labels_browsing_rollouts_and_questions_without_references_keep_theirs() -> None:
    question = Question("q", "q?", ("Paris",))
    given = Rollout(0, "Rome", label=0.5), Rollout(1, "Paris", setting=BROWSING), Rollout(2, None, problem="cut")
    (pool,), _ = grouped(Placed(Parsed(question, rollout), "f:1", SIZE) for rollout in given)
    assert [rollout.label for rollout in pool.rollouts] == [0.5, None, None]
    (pool,), _ = grouped([placed("q", 0)])
    assert pool.rollouts[0].label is None


def test_rollouts_remember_where_they_stood() -> None:
    (pool,), _ = grouped([placed("q", 0, line=7)])
    assert pool.rollouts[0].source == "f:7"


def test_adjacent_pools_are_emitted_while_reading() -> None:
    read: list[int] = []

    def reading() -> Iterable[Placed]:
        for number in range(40):
            read.append(number)
            yield placed(f"q{number // 4}", number % 4)

    pools = group(reading(), print, window_bytes=8 * SIZE)
    assert next(pools).question.id == "q0"
    assert len(read) == 4 + 9
    assert shape(list(pools)) == {f"q{number}": [0, 1, 2, 3] for number in range(1, 10)}


def test_a_pool_larger_than_the_window_stays_whole() -> None:
    items = [placed("big", number, str(number)) for number in range(50)] + [placed("small", 0)]
    assert shape(grouped(items, window_bytes=3 * SIZE)[0]) == {"big": list(range(50)), "small": [0]}


def test_a_question_that_comes_back_too_late_is_refused_with_a_way_out() -> None:
    items = [placed("a", 0), *(placed(f"q{number}", 0) for number in range(5)), placed("a", 1, line=99)]
    assert len(grouped(items, window_bytes=5 * SIZE)[0]) == 6
    with pytest.raises(ReadError) as caught:
        grouped(items, window_bytes=3 * SIZE)
    message = str(caught.value)
    assert message.startswith("f:99: question 'a' comes back after its pool was closed: it began with record 1 ")
    assert "more than 300 bytes" in message
    assert "tracerank convert FILE -o grouped.jsonl" in message
    assert "tr.read_pools" in message


def test_another_question_under_a_closed_id_is_still_kept_apart() -> None:
    filler = [placed(f"q{number}", 0) for number in range(5)]
    items = [placed("a", 0, text="Who?"), *filler, placed("a", 0, text="When?"), placed("a", 1, text="When?")]
    pools, problems = grouped(items, window_bytes=2 * SIZE)
    assert shape(pools)["a~2"] == [0, 1]
    assert len(problems) == 1


class PickyReader:
    """Reads ``{"id", "fails"}`` records; fails as it is told."""

    name = "picky"

    def recognises(self, record: Record) -> bool:
        return True

    def parse(self, record: Record, source: str) -> Parsed:
        question = Question("q", "q?")
        match record["fails"]:
            case "with place":
                reject("bad steps", question, record["id"])
            case "without place":
                reject("no question")
            case "deeply":
                raise RecursionError
            case "newer":
                raise ReadError("written by a newer version")
        return Parsed(question, Rollout(record["id"], "x"))


def picky(*fails: str) -> tuple[list[Pool], list[str]]:
    problems: list[Problem] = []
    items = [
        parse_record(PickyReader(), RecordAt({"id": number, "fails": how}, f"f:{number}", SIZE), problems.append)
        for number, how in enumerate(fails)
    ]
    pools = list(group([item for item in items if item is not None], problems.append))
    return pools, [str(problem) for problem in problems]


def test_an_unreadable_rollout_keeps_its_place_and_its_siblings() -> None:
    (pool,), problems = picky("", "with place", "without place", "deeply", "")
    assert [(rollout.sample_id, rollout.problem) for rollout in pool.rollouts] == [
        (0, None),
        (1, "bad steps"),
        (4, None),
    ]
    assert problems == [
        "f:1: bad steps; the rollout keeps its place but cannot be chosen",
        "f:2: no question; the record was dropped",
        "f:3: nested too deeply; the record was dropped",
    ]
    assert pool.retained().dropped[1] == "bad steps"


def test_a_file_that_must_not_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(ReadError, match="f:0: written by a newer version"):
        picky("newer")


def test_a_malformed_rollout_is_a_tracerank_error() -> None:
    with pytest.raises(MalformedRollout):
        reject("no question")


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """Every text that a function of the module is called with from now on."""
    seen: list[str] = []
    sound = getattr(grouping, name)
    monkeypatch.setattr(grouping, name, lambda text: seen.append(text) or sound(text))
    return seen


@pytest.mark.parametrize("window", [None, 20 * SIZE])
def test_many_questions_under_one_id_cost_no_more_each_than_a_few(
    monkeypatch: pytest.MonkeyPatch, window: int | None
) -> None:
    looked_at, looked_up = counted(monkeypatch, "normalize_text"), counted(monkeypatch, "digest_of")
    count = 600
    pools, problems = grouped((placed("q", None, text=f"question {n}?", line=n) for n in range(count)), window)
    assert [pool.question.text for pool in pools] == [f"question {n}?" for n in range(count)]
    assert [pool.question.id for pool in pools] == ["q", *(f"q~{n}" for n in range(2, count + 1))]
    assert len(problems) == count - 1
    assert len(looked_at) + len(looked_up) < 20 * count


def test_many_rollouts_under_one_sample_id_are_not_compared_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    equal = Rollout.__eq__
    monkeypatch.setattr(Rollout, "__eq__", lambda a, b: compared.append(a) or equal(a, b))
    count = 300
    answers = [f"answer {n % (count // 2)}" for n in range(count)]
    [pool], problems = grouped(placed("q", 0, answer, line=n) for n, answer in enumerate(answers))
    assert [rollout.answer for rollout in pool.rollouts] == answers[: count // 2]
    assert sum("repeats" in problem for problem in problems) == count // 2
    assert len(compared) < 5 * count


def test_a_text_of_white_space_is_a_text_of_its_own() -> None:
    pools, _ = grouped([placed("q", 0, text=" "), placed("q", 1, text="Who?"), placed("q", 2, text="  ")])
    assert [[rollout.sample_id for rollout in pool.rollouts] for pool in pools] == [[0, 2], [1]]


@pytest.mark.parametrize("huge", [2**53 + 1, -(2**63), 10**300, -(10**300)])
def test_a_sample_id_that_no_table_holds_is_none(huge: int) -> None:
    [pool], problems = grouped([placed("q", huge), placed("q", 0, "Rome", line=1)])
    assert [(rollout.sample_id, rollout.answer) for rollout in pool.rollouts] == [(0, "Rome"), (1, "Paris")]
    assert [problem.partition("; ")[2] for problem in problems] == ["the rollout gets a free one"]
    assert len(problems[0]) < 100
