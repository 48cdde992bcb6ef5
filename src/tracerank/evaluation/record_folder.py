"""An evaluation on disk: ``config.json``, ``records.jsonl`` and ``questions.jsonl``, written as results come.

At the end comes ``labels.json``: which rule labelled how many answers. A killed run loses what was under way; the same
command goes on from there; another configuration is refused.
"""

import fcntl
import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import EscalatedRecord, Key, Record
from tracerank.pools.correctness import correctness, is_judged
from tracerank.pools.pool import UNREADABLE, Pool
from tracerank.runs.atomic import write_json, write_text


@dataclass(frozen=True, slots=True)
class SharedEvidence:
    """What one matching rule links in one question's graph (App. A.3)."""

    groups: int
    """Contents or documents that at least two rollouts saw."""
    pairs: int
    """Occurrences of one group in different rollouts."""
    overlap: float | None
    """Mean Jaccard similarity of two rollouts' retrieved sets (App. E); None: fewer than two retained rollouts."""


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """One question and all its samples, in sampling order."""

    question_id: str
    dataset: str | None
    backbone: str | None
    setting: str
    correct: tuple[float | None, ...]
    """Per sample; None: nobody knows."""
    dropped: tuple[str | None, ...]
    """Per sample: why the selector's rule leaves it out; None: it is retained."""
    searches: tuple[int, ...]
    """Per sample."""
    k: int
    """Graph figures below are of the first K samples."""
    occurrences: int
    """Evidence that the retained rollouts saw, each time counted."""
    sharing: Mapping[str, SharedEvidence] = field(default_factory=dict)
    """By matching rule."""
    is_fitted: bool = False
    """Whether a selector that was evaluated was fitted on the question."""

    @property
    def key(self) -> tuple[str | None, str]:
        return self.backbone, self.question_id

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "QuestionFacts":
        """As it was written."""
        sharing = {rule: SharedEvidence(**found) for rule, found in record["sharing"].items()}
        lists = {name: tuple(record[name]) for name in ("correct", "dropped", "searches")}
        return cls(**{**record, **lists, "sharing": sharing})


def facts_of(pool: Pool, k: int, backbone: str | None = None) -> QuestionFacts:
    """The facts of a pool, with the graph of its first K samples."""
    # They bring numpy, for which --help shall not wait.
    from tracerank.trace.recipe import RECIPES
    from tracerank.trace.stats import graph_statistics

    recipe = RECIPES[pool.setting]
    retained = pool.retained()
    statistics = graph_statistics([pool.first(k)], recipe)
    references = pool.question.references
    is_known = is_judged(pool)
    return QuestionFacts(
        pool.question.id,
        pool.question.dataset,
        backbone,
        pool.setting,
        tuple(correctness(rollout, references) if is_known else None for rollout in pool.rollouts),
        tuple(UNREADABLE if one.problem is not None else retained.dropped.get(one.sample_id) for one in pool.rollouts),
        tuple(sum(not search.is_orphan for search in rollout.searches) for rollout in pool.rollouts),
        k,
        statistics.occurrences,
        {
            rule: SharedEvidence(round(found.groups_mean), found.pairs_total, found.overlap_mean)
            for rule, found in statistics.sharing.items()
        },
    )


CONFIG, RECORDS, QUESTIONS, LABELS = "config.json", "records.jsonl", "questions.jsonl", "labels.json"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a folder holds; the records are many and read anew each time."""

    folder: Path
    config: Mapping[str, Any]
    questions: tuple[QuestionFacts, ...]
    left_out: frozenset[tuple[str | None, str]] = frozenset()
    """Keys of questions that are passed over."""

    def without(self, keys: frozenset[tuple[str | None, str]]) -> "Evaluation":
        """The same without some questions."""
        kept = tuple(facts for facts in self.questions if facts.key not in keys)
        return replace(self, questions=kept, left_out=self.left_out | keys)

    @property
    def label(self) -> str | None:
        """What the user calls it; None: nothing."""
        label = self.config.get("label")
        return None if label is None else str(label)

    @property
    def labels(self) -> Mapping[str, Any] | None:
        """What labelled the answers, as ``Labelling.record`` has it; None: the run is not finished, or older."""
        try:
            found = json.loads((self.folder / LABELS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    @property
    def models(self) -> Mapping[str, str | None]:
        """Method to the checkpoint or chat model that decided, None: none; a method may be missing in old folders."""
        models = self.config.get("models")
        return models if isinstance(models, dict) else {}

    def records(self) -> Iterator[Record]:
        """As they were written; a line that a kill has torn is left out."""
        found = map(record_of, _lines(self.folder / RECORDS))
        if not self.left_out:
            return found
        return (record for record in found if (record.backbone, record.question_id) not in self.left_out)


def read_evaluation(folder: Path) -> Evaluation:
    """The evaluation in a folder."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(
            f"{folder}: holds no evaluation; make one with `tracerank evaluate FILE -o {folder}`"
        ) from None
    if not isinstance(config, dict):
        raise UsageError(f"{folder / CONFIG}: damaged; evaluate again")
    facts = tuple(QuestionFacts.from_record(line) for line in _lines(folder / QUESTIONS))
    return Evaluation(folder, config, facts)


class RecordFolder:
    """Takes the records of one run; knows those that earlier attempts at it have left."""

    def __init__(self, folder: Path, config: Mapping[str, Any], is_new: bool = False) -> None:
        """``is_new``: forget what another run has left here."""
        self.folder = folder
        self.done: set[Key] = set()
        self._noted: set[tuple[str | None, str]] = set()
        self._config = json.dumps(config, indent=2, ensure_ascii=True) + "\n"
        self._is_new = is_new
        self._records: BinaryIO
        self._questions: BinaryIO

    def __enter__(self) -> "RecordFolder":
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder}: is a file; name a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._open_records()
        self._questions = open(self.folder / QUESTIONS, "a+b")
        self._claim()
        self._forget_failed()
        self.done = {record_of(line).key for line in _sound(self._records)}
        self._noted = {QuestionFacts.from_record(line).key for line in _sound(self._questions)}
        return self

    def _open_records(self) -> None:
        self._records = open(self.folder / RECORDS, "a+b")  # noqa: SIM115
        try:
            fcntl.flock(self._records, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._records.close()
            raise UsageError(f"{self.folder}: another evaluation is writing here; wait for it") from None

    def _claim(self) -> None:
        path = self.folder / CONFIG
        if self._is_new:
            self._records.truncate(0)
            self._questions.truncate(0)
            (self.folder / LABELS).unlink(missing_ok=True)
        elif path.exists() and path.read_text(encoding="utf-8") != self._config:
            self.__exit__(None, None, None)
            raise UsageError(
                f"{self.folder}: holds an evaluation of other files, methods or settings ({CONFIG} says which); "
                "choose another folder, or start over with --force"
            )
        write_text(path, self._config)

    def _forget_failed(self) -> None:
        """Decisions on which a server failed are made again, so their records leave the file."""
        self._records.seek(0)
        if not any(_may_have_failed(line) for line in self._records):
            return
        path = self.folder / RECORDS
        self._records.seek(0)
        with open(path.with_name(f"{RECORDS}.new"), "wb") as kept:
            for line in _whole_lines(self._records, lambda _: None):
                if record_of(line).failure is None:
                    _append(kept, line)
            os.fsync(kept.fileno())
        os.replace(kept.name, path)
        self._records.close()
        self._open_records()

    def write(self, record: Record) -> None:
        """One more record, out of our hands at once."""
        _append(self._records, asdict(record))

    def write_labels(self, record: Mapping[str, Any]) -> None:
        """What labelled the answers of the whole run."""
        write_json(self.folder / LABELS, record)

    def noting(
        self, pools: Iterable[Pool], k: int, backbone: str | None, fitted: Container[Pool] = ()
    ) -> Iterator[Pool]:
        """The pools, with the facts about each that is new here written down as it passes."""
        for pool in pools:
            if (backbone, pool.question.id) not in self._noted:
                self._noted.add((backbone, pool.question.id))
                _append(self._questions, asdict(replace(facts_of(pool, k, backbone), is_fitted=pool in fitted)))
            yield pool

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_empty = not self._records.tell() and not self._questions.tell()
        self._questions.close()
        self._records.close()
        if kind is not None and is_empty:
            # A run that failed before its first result leaves nothing in the way of the next.
            for name in (CONFIG, RECORDS, QUESTIONS):
                (self.folder / name).unlink(missing_ok=True)
            with suppress(OSError):
                self.folder.rmdir()


def record_of(line: Mapping[str, Any]) -> Record:
    """A record as it was written."""
    told = line.get("escalated")
    return Record(**line) if told is None else Record(**{**line, "escalated": EscalatedRecord(**told)})


def _may_have_failed(line: bytes) -> bool:
    # Quotes inside texts are escaped, so no text can look like this.
    return b'"problem": "' in line


def _append(file: BinaryIO, value: Mapping[str, Any]) -> None:
    # ASCII: texts of rollouts hold lone surrogates and line separators.
    file.write(json.dumps(value).encode() + b"\n")
    file.flush()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            yield from _whole_lines(file, lambda _: None)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); evaluate again") from None


def _sound(file: BinaryIO) -> Iterator[dict[str, Any]]:
    """The whole lines of a file that is then cut behind them, ready for more."""
    file.seek(0)
    length = 0

    def count(size: int) -> None:
        nonlocal length
        length += size

    yield from _whole_lines(file, count)
    file.truncate(length)
    file.seek(0, os.SEEK_END)


def _whole_lines(file: BinaryIO, on_line: Callable[[int], None]) -> Iterator[dict[str, Any]]:
    for line in file:
        try:
            value = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            return
        on_line(len(line))
        yield value
