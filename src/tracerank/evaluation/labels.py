"""The rule that says whether an answer is right: the file's labels, the references or a judge, never mixed silently.

``auto`` takes the labels of the file (a judge's verdicts, the environment's reward) and compares with the references by
meaning where there are none. ``given`` takes the file's alone; ``em``, ``meaning``, ``contains`` and ``f1`` compare
with the references and ignore the file; ``paper`` is the paper's rule (App. A.1); ``judge`` asks a chat model.
Containment can be gamed by long answers.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.answers.equivalence import contains_match
from tracerank.answers.exact import exact_match, normalize_answer, token_f1
from tracerank.answers.meaning.rightness import is_right
from tracerank.errors import UsageError
from tracerank.evaluation.agreement import BesideMeaning
from tracerank.evaluation.judging import AnswerJudge
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question

AUTO, GIVEN, EM, MEANING, CONTAINS, F1 = "auto", "given", "em", "meaning", "contains", "f1"
PAPER, JUDGE = "paper", "judge"
FILE = "file"
"""Source of the labels that the file has."""

_COMPARES = {AUTO: MEANING, GIVEN: None, EM: EM, MEANING: MEANING, CONTAINS: CONTAINS, F1: F1, PAPER: EM, JUDGE: JUDGE}
"""Rule to what compares with the references; None: nothing does."""
RULES = tuple(_COMPARES)
_MATCHES: Mapping[str, Callable[[str, str, Sequence[str]], float]] = {
    EM: lambda _, answer, references: exact_match(answer, references),
    MEANING: lambda question, answer, references: float(is_right(question, answer, references)),
    CONTAINS: lambda _, answer, references: contains_match(answer, references),
    F1: lambda _, answer, references: token_f1(answer, references),
}
"""How right an answer to a question is, given the references."""
_SHOWN = {
    FILE: "of the file",
    EM: "by exact match",
    MEANING: "by meaning",
    CONTAINS: "by containment",
    F1: "by token F1, a share",
    JUDGE: "by the judge",
}
_AUTO_NAME = f"{FILE}, else {MEANING}"
JUDGED_DATASETS = frozenset(("browsecomp", "browsecompplus", "frames", "gaia", "hle", "deepsearchqa", "healthbench"))
"""Datasets, as letters and digits, that are scored by saved judgments (App. A.1); the others by exact match."""


class Labelling:
    """Labels pools by one rule, once per distinct answer of a question, and counts where labels came from."""

    def __init__(self, rule: str = AUTO, judge: AnswerJudge | None = None, beside: BesideMeaning | None = None) -> None:
        """``judge`` is for the rule of that name alone; ``beside`` compares other judgements with meaning."""
        if rule not in _COMPARES:
            raise UsageError(f"--labels {rule!r}: known are {', '.join(RULES)}; {JUDGE} as {JUDGE}:URL#MODEL")
        if (rule == JUDGE) != (judge is not None):
            raise UsageError("labels by a judge need a chat server and its model's name: --labels judge:URL#MODEL")
        self.rule, self.judge, self.beside = rule, judge, beside
        self.answers: Counter[str] = Counter()
        """Answers by the source of their label: ``file`` or a rule that compares."""
        self.right: dict[str, float] = {}
        """The sum of their labels."""
        self.failed: set[str] = set()
        """Ids of questions with an answer about which asking the judge failed."""
        self.unjudged = 0
        """Answers without a label."""
        self._lock = threading.Lock()  # a judge is asked about several pools at once

    @property
    def name(self) -> str:
        """The rule, for the settings of a run."""
        if self.judge is not None:
            return f"{JUDGE}:{self.judge.name}"
        return _AUTO_NAME if self.rule == AUTO else self.rule

    def pools(self, pools: Iterable[Pool]) -> Iterator[Pool]:
        """The pools with labels, in order; a judge is asked about several at once."""
        return map(self.pool, pools) if self.judge is None else self.judge.in_order(self.pool, pools)

    def pool(self, pool: Pool) -> Pool:
        """The pool with labels by the rule."""
        if self.beside is not None:
            with self._lock:
                self.beside.add(pool)
        question = pool.question
        if self._takes_file_alone(pool):
            question = replace(question, references=())  # what has no label stays unjudged
        takes_file = self.rule in (AUTO, GIVEN, PAPER)
        still_open = (one.answer for one in pool.rollouts if not (takes_file and one.label is not None))
        found = self._compared(question, list(dict.fromkeys(filter(None, still_open))))
        rollouts = []
        for one in pool.rollouts:
            if one.answer:  # without one it is wrong, whatever its label
                is_files = takes_file and one.label is not None
                label = one.label if is_files else found[one.answer]
                self._count(label, FILE if is_files else _COMPARES[self.rule] or FILE)
                one = one if label is one.label else replace(one, label=label)
            rollouts.append(one)
        if None in found.values() and self.judge is not None:
            # With references, an answer that could not be judged would be compared by another rule.
            with self._lock:
                self.failed.add(question.id)
            question = replace(question, references=())
        return Pool(question, tuple(rollouts))

    def answer(self, question: Question, answer: str) -> float | None:
        """How right a newly written answer is; None: unknown."""
        return self._compared(question, [answer])[answer]

    def _takes_file_alone(self, pool: Pool) -> bool:
        """Whether nothing is compared: what a judge has left out is not filled in by another rule."""
        dataset = normalize_answer(pool.question.dataset).replace(" ", "")
        if self.rule not in (AUTO, PAPER) or dataset not in JUDGED_DATASETS:
            return self.rule == GIVEN
        known = [one.label is not None for one in pool.rollouts if one.answer]
        return any(known) if self.rule == AUTO else not all(known)

    def _compared(self, question: Question, answers: Sequence[str]) -> dict[str, float | None]:
        by, references = _COMPARES[self.rule], question.references
        if not references or by is None:
            return dict.fromkeys(answers)
        if self.judge is not None:
            return dict(zip(answers, self.judge.scores(question.text, answers, references), strict=True))
        return {answer: _MATCHES[by](question.text, answer, references) for answer in answers}

    def _count(self, label: float | None, by: str) -> None:
        with self._lock:
            if label is None:
                self.unjudged += 1
            else:
                self.answers[by] += 1
                self.right[by] = self.right.get(by, 0.0) + label

    def warnings(self) -> list[str]:
        """Where exact match or the file's labels differ from meaning, if that was checked."""
        return [] if self.beside is None else self.beside.warnings(self.answers[EM] > 0)

    @property
    def sentence(self) -> str:
        """The rule that labelled, in a line."""
        return labels_sentence(self.record())

    def record(self) -> dict[str, Any]:
        """The rule and its counts, as JSON has them."""
        found: dict[str, Any] = {
            "rule": self.name,
            "answers": dict(sorted(self.answers.items())),
            "right": dict(self.right),
            "unjudged": self.unjudged,
        }
        return found if self.judge is None else {**found, "judge": self.judge.record()}


def labels_sentence(record: Mapping[str, Any]) -> str:
    """What the record of a labelling says, in a line."""
    answers: Mapping[str, int] = record["answers"]
    words, way = labels_words(record), ""
    if len(answers) > 1:
        words = ", ".join(f"{count:,} {_SHOWN[by]}" for by, count in answers.items())
    elif record["rule"] == _AUTO_NAME and MEANING in answers:
        way = " (references; --labels em for exact match)"
    unjudged = f"; {record['unjudged']:,} answers have no label" if record["unjudged"] else ""
    return f"labels: {words}{way}{unjudged}"


def labels_words(record: Mapping[str, Any]) -> str:
    """What labelled, in a few words, without counts."""
    found = " and ".join(_SHOWN[by] for by in sorted(record["answers"])) or "none"
    return f"{found} {record['judge']['model']}" if JUDGE in record["answers"] else found


def labelled(pool: Pool, rule: str = AUTO) -> Pool:
    """The pool with labels by a rule that asks no model."""
    return Labelling(rule).pool(pool)
