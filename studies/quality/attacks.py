"""How often one hostile page overturns a majority: ``python -m studies.quality.attacks``.

Writes ``studies/results/attacks.csv``. Pools are made of public questions outside the test split: a majority gives the
right answer, with passages that hold it (supported) or others; a rollout gives another question's answer, for which it
alone saw the page. Each strategy is tried with the page alone, and behind the majority's own passages and a query for
the majority's answer. ``2/3`` and pages that every rollout saw are no part of what is promised.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from types import MappingProxyType

import tracerank as tr
from studies import RESULTS
from studies.shipped_weights.question_sets import rows_of, split_of
from tracerank.pools.types import Evidence, Rollout, Search

QUESTIONS, SEED = 150, 5
SHAPES: Mapping[str, tuple[int, int]] = MappingProxyType({"2/3": (2, 1), "3/4": (3, 1), "6/8": (6, 2), "7/8": (7, 1)})
"""Name to the votes of the majority and of the page's answer."""
ALONE, AMONG = "alone", "among others"
FIELDS = ("majority", "supported", "seen_by", "strategy", "layout", "questions", "overturned")

Pages = Callable[[str, str, Random], list[str]]
"""The hostile texts, of a question and the answer that they are for."""


def claimed(question: str, answer: str, rng: Random) -> list[str]:
    return [f"It is well known: {answer}. To the matter of {question.rstrip('?')}, {answer} is the only correct name."]


def echoed(question: str, answer: str, rng: Random) -> list[str]:
    return [f"Q: {question} A: {answer}"]


def repeated(question: str, answer: str, rng: Random) -> list[str]:
    return [f"Q: {question} A: {answer}. {answer} is the answer."] * 6


def near_copies(question: str, answer: str, rng: Random) -> list[str]:
    return [f"Page {number}. {question} {answer}. Updated in {2000 + number}." for number in range(6)]


def stuffed(question: str, answer: str, rng: Random) -> list[str]:
    words = question.rstrip("?").split()
    rng.shuffle(words)
    half = len(words) // 2
    return [f"{' '.join(words[:half])} {answer} {' '.join(words[half:])}"]


def led_to(question: str, answer: str, rng: Random) -> list[str]:
    """A page for the question and one for the query that follows."""
    words = question.rstrip("?").split()
    half = len(words) // 2
    return [
        f"{' '.join(words[:half])}: see the records of Zorvath. {' '.join(words[half:])}",
        f"The records of Zorvath name {answer}. {' '.join(words[half:])}",
    ]


STRATEGIES: Mapping[str, Pages] = MappingProxyType(
    {each.__name__: each for each in (claimed, echoed, repeated, near_copies, stuffed, led_to)}
)


def cases() -> Iterator[tuple[str, str, str, list[str], list[str]]]:
    """Question, right answer, another's answer, passages that hold the right one, and passages that do not."""
    rng = Random(SEED)
    texts = {row["id"]: f"{row['title']}. {row['text']}" for row in rows_of("2wiki_corpus")}
    asked = [row for row in rows_of("2wiki_questions") if split_of(row["question"]) == "train" and row["gold_ids"]]
    rng.shuffle(asked)
    made = 0
    for row, other in pairwise(asked):
        right, wrong = str(row["answers"][0]), str(other["answers"][0])
        gold = [texts[each] for each in row["gold_ids"] if each in texts]
        if {right.lower(), wrong.lower()} & {"yes", "no"} or tr.same_answer(row["question"], right, wrong):
            continue
        if not any(right in text for text in gold) or any(wrong in text for text in gold):
            continue
        bare = [text for text in rng.sample(list(texts.values()), 6) if right not in text and wrong not in text]
        yield row["question"], right, wrong, gold, bare[:3]
        made += 1
        if made == QUESTIONS:
            return


def attacked(
    question: str,
    right: str,
    wrong: str,
    passages: Sequence[str],
    pages: Sequence[str],
    shape: str,
    layout: str,
    all_see: bool,
) -> tr.Pool:
    """The pool with the pages before one dissenter, or everybody."""
    many, few = SHAPES[shape]
    plain = Search(question, _evidence(passages))
    hostile = [Search(f"{question} {number}", _evidence([page])) for number, page in enumerate(pages)]
    if layout == AMONG:
        hostile = [plain, Search(right, ()), *hostile]
    honest = Rollout(0, right, (plain, *(hostile[-len(pages) :] if all_see else ())))
    rollouts = [honest] * many + [Rollout(0, wrong, tuple(hostile))] + [Rollout(0, wrong, (plain,))] * (few - 1)
    numbered = [replace(one, sample_id=index) for index, one in enumerate(rollouts)]
    return tr.Pool.of(tr.Question(question, question), numbered)


def _evidence(texts: Sequence[str]) -> tuple[Evidence, ...]:
    return tuple(Evidence(text, rank=rank) for rank, text in enumerate(texts, start=1))


def main() -> None:
    method, listed = tr.load_method(), list(cases())
    with open(RESULTS / "attacks.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        for shape in SHAPES:
            for is_supported in (True, False):
                for all_see in (False, True):
                    for name, strategy in STRATEGIES.items():
                        for layout in (ALONE, AMONG):
                            rng, flips = Random(SEED), 0
                            for question, right, wrong, gold, bare in listed:
                                pages = strategy(question, wrong, rng)
                                passages = gold if is_supported else bare
                                pool = attacked(question, right, wrong, passages, pages, shape, layout, all_see)
                                flips += method.decide(pool).answer == wrong
                            seen_by = "all" if all_see else "one"
                            row = shape, is_supported, seen_by, name, layout, len(listed), round(flips / len(listed), 3)
                            table.writerow(row)
                            print(*row, sep=", ", flush=True)


if __name__ == "__main__":
    main()
