"""What an evaluation records, and the folder that holds it.

``records.jsonl`` has a line per decision, written as it is made, and ``config.json`` the settings; at the end come
``questions.jsonl`` with a line per question and ``labels.json`` with what labelled the answers. The same command
resumes an interrupted run and retries decisions that failed.
"""

import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from tracerank.errors import UsageError
from tracerank.pools.correctness import correctness, is_judged
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import line_of, write_json, write_lines
from tracerank.runs.resumable import ResumableLines, read_lines
from tracerank.votes.agents import AgentFigures

CONFIG, RECORDS, QUESTIONS = "config.json", "records.jsonl", "questions.jsonl"
LABELS, AGENTS = "labels.json", "agents.jsonl"
MAX_CHARACTERS = 240
"""Of a question in its facts."""

QuestionKey = tuple[str | None, str]
"""Backbone and question."""
Key = tuple[str | None, str, str, int]
"""Backbone, question, method and K: what a record is about."""


@dataclass(frozen=True, slots=True)
class EscalatedRecord:
    """The decision before another method was asked, and what asking it cost."""

    method: str
    """The other method."""
    below: float
    """It is asked below this confidence."""
    outcome: str
    """``changed``, ``confirmed`` or ``kept``."""
    answer: str | None
    sample_id: int | None
    correct: float | None
    """Of the first answer; None: unknown."""
    confidence: float | None
    """None: the first decision had none, which counts as unsure."""
    calls: int | None = None
    """Of the other method alone; None: no model was asked, or calls were not counted. So are tokens."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    problem: str | None = None
    """Why the other method failed, so that the first answer stands; running again retries it. None: it did not fail."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one method chose on one question with K rollouts, and how good that was."""

    question_id: str
    dataset: str | None
    method: str
    k: int
    answer: str | None
    """None: the pool has no candidate, a model gave no answer (``counts``), or the figures are a mean over rollouts."""
    sample_id: int | None
    correct: float | None
    """Between 0 and 1; None: unknown."""
    f1: float | None
    """None: the question has no references."""
    backbone: str | None = None
    """The model that made the rollouts; None: not given."""
    seconds: float | None = None
    """From the previous decision to this one, so that the time of a block is with its first pool, and what a method
    loads with its first decision. None: nothing was decided."""
    prompt_tokens: int | None = None
    """Tokens and calls of deciding; None: no model was asked, or they were not counted."""
    completion_tokens: int | None = None
    calls: int | None = None
    note: str | None = None
    """The method's remark on its decision."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason to number of rollouts that were no candidates."""
    confidence: float | None = None
    """The method's estimate that its answer is right; None: it gives none."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What happened while a model was asked, in the words of ``votes/base.py``."""
    reply: str | None = None
    """The model's reply that the answer was read from; None: no model wrote an answer."""
    problem: str | None = None
    """Why nothing was decided: the method failed, which is wrong, or a server, which is in no figure. Running again
    retries such a decision."""
    escalated: EscalatedRecord | None = None
    """Another method was asked, because the first was unsure; None: it was not."""

    @property
    def key(self) -> Key:
        return self.backbone, self.question_id, self.method, self.k

    @property
    def failure(self) -> str | None:
        """What failed, also where a decision was possible all the same; None: nothing did."""
        return self.problem or (None if self.escalated is None else self.escalated.problem)


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """One question and all its samples, in sampling order."""

    question_id: str
    question: str
    """The text, perhaps cut."""
    dataset: str | None
    backbone: str | None
    setting: str
    correct: tuple[float | None, ...]
    """Per sample; None: unknown."""
    is_fitted: bool = False
    """Whether a selector that was evaluated was fitted on the question."""

    @property
    def key(self) -> QuestionKey:
        return self.backbone, self.question_id

    @classmethod
    def of(cls, pool: Pool, backbone: str | None = None, is_fitted: bool = False) -> "QuestionFacts":
        """The facts of a labelled pool."""
        question, is_known = pool.question, is_judged(pool)
        return cls(
            question.id,
            question.text[:MAX_CHARACTERS],
            question.dataset,
            backbone,
            pool.setting,
            tuple(correctness(one, question.references) if is_known else None for one in pool.rollouts),
            is_fitted,
        )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a folder holds; the records are many and read anew each time."""

    folder: Path
    config: Mapping[str, Any]
    questions: tuple[QuestionFacts, ...]
    labels: Mapping[str, Any] | None
    """What labelled the answers, as ``Labelling.record`` has it; None: the run is not complete."""
    agents: tuple[AgentFigures, ...] = ()
    """What is known of the agents; empty: fewer than two are known."""

    def records(self) -> Iterator[Record]:
        """The records as they were written; a line that a kill has torn is left out."""
        return read_records(self.folder)


def read_records(folder: Path) -> Iterator[Record]:
    """The records in a folder, complete or not; a line that a kill has torn is left out."""
    return map(_record, _lines(folder / RECORDS))


def read_evaluation(folder: Path) -> Evaluation:
    """The evaluation in a folder, complete but for decisions that failed."""
    config = _json_object(folder / CONFIG)
    if config is None:
        raise UsageError(f"{folder}: holds no evaluation; make one with `tracerank evaluate FILE -o {folder}`")
    if not (folder / QUESTIONS).exists():
        raise UsageError(f"{folder}: the evaluation was interrupted; run the same `tracerank evaluate` again")
    with _naming_damage():
        facts = msgspec.convert(list(read_lines(folder / QUESTIONS)), tuple[QuestionFacts, ...])
        agents = msgspec.convert(list(_lines(folder / AGENTS)), tuple[AgentFigures, ...])
    return Evaluation(folder, config, facts, _json_object(folder / LABELS), agents)


class RecordFolder:
    """Writes the records of one run, and knows those that an interrupted run has left.

    Other settings than those in the folder are refused, unless ``force`` is set. A run in which a decision failed stays
    incomplete, so that running it again retries from there.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], force: bool = False) -> None:
        self.folder = folder
        self.done: set[Key] = set()
        self._questions: dict[QuestionKey, QuestionFacts] = {}
        self._settings = json.loads(json.dumps(settings))
        self._force = force
        self._is_incomplete = False
        self._stack = ExitStack()
        self._lines: ResumableLines | None = None
        """None: the same run has finished."""

    def __enter__(self) -> "RecordFolder":
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder}: is a file; name a folder")
        records = self.folder / RECORDS
        is_same = not self._force and _json_object(self.folder / CONFIG) == self._settings
        if not is_same:
            for path in (self.folder / name for name in (CONFIG, LABELS, AGENTS, QUESTIONS, RECORDS)):
                if path.exists() and not self._force:
                    raise UsageError(
                        f"{self.folder}: holds an evaluation of other files, methods or settings, or another "
                        f"{path.name}; choose another folder, or start over with --force"
                    )
                path.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            if not records.exists():
                lines = ResumableLines(records, self._settings, force=self._force, finish=self._finish)
                self._lines = stack.enter_context(lines)
            write_json(self.folder / CONFIG, self._settings)
            kept = _lines(records) if self._lines is None else self._lines.kept(lambda line: not _record(line).failure)
            self.done = {_record(line).key for line in kept}
            self._stack = stack.pop_all()
        return self

    def _finish(self, part: Path, path: Path) -> None:
        if not self._is_incomplete:
            os.replace(part, path)

    def leave_incomplete(self) -> None:
        """Let the same run retry what failed."""
        self._is_incomplete = True
        if self._lines is not None:
            self._lines.keep_part = True

    def write(self, record: Record) -> None:
        """Append one record and hand it to the operating system."""
        if self._lines is None:
            raise UsageError(f"{self.folder}: is complete, but has no question {record.question_id!r}; use --force")
        if record.failure is not None:
            self.leave_incomplete()
        self._lines.write(line_of(asdict(record)))

    def write_labels(self, record: Mapping[str, Any]) -> None:
        """What labelled the answers of the whole run."""
        write_json(self.folder / LABELS, record)

    def write_agents(self, figures: Sequence[AgentFigures]) -> None:
        """What is known of the agents, where pools mix several."""
        if figures:
            write_lines(self.folder / AGENTS, map(asdict, figures))

    def noting(
        self, pools: Iterable[Pool], backbone: str | None = None, fitted: Container[Pool] = ()
    ) -> Iterator[Pool]:
        """The pools, with the facts about each question noted as it passes; they are written at the end."""
        for pool in pools:
            facts = QuestionFacts.of(pool, backbone, pool in fitted)
            self._questions.setdefault(facts.key, facts)
            yield pool

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:  # before the records: where they are complete, everything is
            write_lines(self.folder / QUESTIONS, map(asdict, self._questions.values()))
        self._stack.__exit__(kind, error, trace)
        if kind is not None and next(_lines(self.folder / RECORDS), None) is None:
            # A run that failed before its first record leaves nothing in the way of the next.
            (self.folder / CONFIG).unlink(missing_ok=True)
            with suppress(OSError):
                self.folder.rmdir()


def _record(line: Mapping[str, Any]) -> Record:
    with _naming_damage():
        return msgspec.convert(line, Record)


@contextmanager
def _naming_damage() -> Iterator[None]:
    try:
        yield
    except ValueError as error:  # msgspec's, too
        raise UsageError(f"a line of the evaluation is damaged ({error}); evaluate again with --force") from None


def _json_object(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a finished file, else of the part that a run is writing or has left, if any."""
    found = next((each for each in (path, path.with_name(f"{path.name}.part")) if each.exists()), None)
    with suppress(ValueError):  # a kill can tear the last line
        yield from () if found is None else read_lines(found)
