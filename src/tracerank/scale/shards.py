"""The folder that an engine writes: one Parquet file of decisions a piece, whole or not at all, and what the run was.

``run.json`` says which run the folder belongs to, ``plan.json`` how its files are cut, ``part-NNNNN.parquet`` is there
when its piece is done, and ``manifest.json`` when all are. What was wrong with rows lies beside the shard as JSON
Lines. Knows no engine.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from tracerank.errors import ReadError, TraceRankError, UsageError
from tracerank.extras import needed
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.grouping import WINDOW_BYTES
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.gathering import gathered_rows
from tracerank.scale.pieces import Piece, Plan, opened, rows_of
from tracerank.scale.places import Place
from tracerank.scale.questions import digest
from tracerank.scale.vectors import VECTORS
from tracerank.votes.decision_table import DECISION, arrow_schema, arrow_table
from tracerank.votes.selector import EmbedderChoice

RUN, PLAN, MANIFEST = "run.json", "plan.json", "manifest.json"
_COUNTS = b"tracerank"
"""Where a shard's footer keeps what was counted."""
_ROWS = 1000
_RUN_WINDOW_BYTES = 2**20
"""Of other questions' rows after which a pool is closed where a question's rows are known to follow each other."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a shard holds."""

    shard: str
    rows: int = 0
    """Rollouts that were read, with those that could not be used."""
    questions: int = 0
    unanswered: int = 0
    """Questions without an answer."""
    failed: int = 0
    """Of them those on which the method or its server failed."""
    problems: int = 0
    """Lines of the file of problems beside it."""


class ShardFolder:
    """The output of one run, from the first shard to the manifest."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def begin(self, run: Mapping[str, Any], force: bool = False) -> None:
        """Take the folder, or take up again what the same run has left; another's is refused."""
        wanted = json.loads(json.dumps(run))
        if not self.place.exists(RUN):
            if self.place.names():
                raise UsageError(f"{self.place.name}: is not empty and no folder of ours; name another one")
        else:
            is_same = self._json(RUN) == wanted
            if not is_same and not force:
                raise UsageError(
                    f"{self.place.name}: holds decisions of other arguments or inputs; name another folder, or start "
                    "over with --force"
                )
            if not is_same or (force and self.is_complete()):
                self.place.remove("")
        self.place.write(RUN, _json_bytes(wanted))

    def is_complete(self) -> bool:
        return self.place.exists(MANIFEST)

    def plan(self) -> Plan | None:
        """How the files were cut; None: nobody has done so."""
        return Plan.of(self._json(PLAN)) if self.place.exists(PLAN) else None

    def keep_plan(self, plan: Plan) -> None:
        self.place.write(PLAN, _json_bytes(plan.record()))

    def left(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces that nobody has done."""
        there = set(self.place.names())
        return [piece for piece in pieces if shard_name(piece) not in there]

    def finish(self, pieces: Sequence[Piece]) -> Counts:
        """Write the manifest and return the sums; what is missing, or a question in two shards, is refused."""
        if missing := self.left(pieces):
            raise ReadError(
                f"{self.place.name}: {len(missing):,} shards are missing; if workers run on other machines they must "
                "see this folder; the same command goes on"
            )
        shards = [counts_of(self.place, shard_name(piece)) for piece in pieces]
        self._refuse_twice(pieces)
        self.place.write(MANIFEST, _json_bytes({"shards": [asdict(one) for one in shards]}))
        self.place.remove(VECTORS)
        return self._sums(shards)

    def counts(self) -> Counts:
        """The sums of a complete run."""
        return self._sums([Counts(**one) for one in self._json(MANIFEST)["shards"]])

    def problems(self) -> Iterator[Problem]:
        """What was wrong with files and rows, shard by shard."""
        plan = self.plan()
        yield from () if plan is None else plan.problems
        for name in self.place.names():
            if name.startswith("part-") and name.endswith(".problems.jsonl"):
                for line in self.place.read(name).splitlines():
                    yield Problem(**json.loads(line))

    def _refuse_twice(self, pieces: Sequence[Piece]) -> None:
        """A question that two shards have decided on was not whole in either: its rows, or who declared them, err."""
        ids = []
        for piece in pieces:
            with opened(self.place.at(shard_name(piece))) as file:
                names = file.read(columns=["question_id"], use_threads=False).column(0).to_pylist()
            ids.append(np.fromiter((digest(name) for name in names), np.uint64, len(names)))
        whole = np.concatenate(ids)
        values, counts = np.unique(whole, return_counts=True)
        if len(values) == len(whole):
            return
        twice = values[np.argmax(counts > 1)]
        shards = [shard_name(piece) for piece, own in zip(pieces, ids, strict=True) if twice in own]
        raise ReadError(
            f"{self.place.name}: a question was decided on both in {' and in '.join(shards)}, so its rollouts do not "
            "stand together; start over without --sharded, or name the question's column with --map question_id=COLUMN"
        )

    def _sums(self, shards: Sequence[Counts]) -> Counts:
        names = ("rows", "questions", "unanswered", "failed", "problems")
        return Counts(self.place.name, *(sum(getattr(one, name) for one in shards) for name in names))

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self.place.read(name))
        except ValueError as error:
            raise ReadError(f"{self.place.at(name)}: damaged ({error}); start over in another folder") from None


def shard_name(piece: Piece) -> str:
    return f"part-{piece.name}.parquet"


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def counts_of(place: Place, name: str) -> Counts:
    """What the footer of a shard says."""
    try:
        with opened(place.at(name)) as file:
            return Counts(**json.loads(file.metadata.metadata[_COUNTS]))
    except (ReadError, ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ReadError(f"{place.at(name)}: damaged ({reason}); delete it, the same command goes on") from None


@dataclass(frozen=True)
class DecideShard:
    """A piece in, its shard written: what an engine calls, in whichever process or machine."""

    decide: DecidePools
    folder: str

    def __call__(self, told: str, embedder: EmbedderChoice = None) -> str:
        """Decide on a piece and write its shard; a second time costs a look. What went wrong is told, not raised."""
        piece = Piece.of(json.loads(told))
        place = Place(self.folder)
        try:
            if not place.exists(shard_name(piece)):
                self._write(piece, place, embedder)
            return json.dumps(asdict(counts_of(place, shard_name(piece))))
        except TraceRankError as error:
            return json.dumps({"shard": shard_name(piece), "error": str(error)})

    def _write(self, piece: Piece, place: Place, embedder: EmbedderChoice) -> None:
        with needed("shards need", "readers", UsageError):
            import pyarrow
            import pyarrow.parquet as parquet

        read = _Rows(piece)
        counts = Counts(shard_name(piece))
        lines = self.decide.lines(read.records(), read.problems.append, _window(piece), embedder)
        with ExitStack() as stack:
            draft = stack.enter_context(place.draft(shard_name(piece)))
            writer = stack.enter_context(parquet.ParquetWriter(draft, arrow_schema(pyarrow, DECISION)))
            while block := list(islice(lines, _ROWS)):
                writer.write_table(arrow_table(pyarrow, block, DECISION))
                counts = replace(
                    counts,
                    questions=counts.questions + len(block),
                    unanswered=counts.unanswered + sum(line["answer"] is None for line in block),
                    failed=counts.failed + sum(line["problem"] is not None for line in block),
                )
            counts = replace(counts, rows=read.count, problems=len(read.problems))
            if read.problems:  # before the shard, which says that all is done
                told = io.BytesIO()
                for problem in read.problems:
                    told.write(json.dumps(asdict(problem)).encode() + b"\n")
                place.write(f"{shard_name(piece).removesuffix('.parquet')}.problems.jsonl", told.getvalue())
            writer.add_key_value_metadata({_COUNTS: json.dumps(asdict(counts))})


def _window(piece: Piece) -> int | None:
    """A partition is held anyway; in a file as it was given, questions stand together, or near each other."""
    if piece.is_gathered:
        return None
    return _RUN_WINDOW_BYTES if piece.is_in_runs else WINDOW_BYTES


class _Rows:
    """The rows of a piece, counted; other than were planned, and nothing wrong with them, are no piece of this run."""

    def __init__(self, piece: Piece) -> None:
        self.count = 0
        self.problems: list[Problem] = []
        self._piece = piece

    def records(self) -> Iterator[RecordAt]:
        piece = self._piece
        is_damaged = False
        for item in gathered_rows(piece) if piece.is_gathered else rows_of(piece):
            self.count += 1
            if isinstance(item, Problem):
                is_damaged = True
                self.problems.append(item)
            else:
                yield item
        if self.count != piece.rows and not (is_damaged and self.count < piece.rows):
            raise ReadError(
                f"{', '.join(piece.files)}: {self.count:,} rows were read of {piece.rows:,} in piece {piece.name}; the "
                "file has changed or is damaged: restore it, the same command goes on"
            )
