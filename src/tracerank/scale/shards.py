"""The folder that an engine writes: one Parquet file of decisions a piece, whole or not at all, and what the run was.

``run.json`` says which run the folder belongs to, ``part-NNNNN.parquet`` is there when its piece is done, and
``manifest.json`` when all are. What was wrong with rows lies beside the shard as JSON Lines. Knows no engine.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tracerank.errors import EmbeddingError, ReadError, UsageError
from tracerank.extras import needed
from tracerank.methods.decision_table import DECISION, arrow_schema, arrow_table
from tracerank.pools.files import replacing, write_json, write_lines
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.grouping import WINDOW_BYTES
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.pieces import Piece, rows_of
from tracerank.selectors.base import EmbedderChoice

RUN, MANIFEST, GATHERED = "run.json", "manifest.json", ".gathered"
_COUNTS = b"tracerank"
"""Where a shard's footer keeps what was counted."""
_ROWS = 1000


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

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gathered = folder / GATHERED

    def begin(self, run: Mapping[str, Any], force: bool = False) -> None:
        """Take the folder, or take up again what the same run has left; another's is refused."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder}: is a file; an engine writes a folder")
        path = self.folder / RUN
        wanted = json.loads(json.dumps(run))
        if path.exists() and json.loads(path.read_text(encoding="utf-8")) != wanted:
            if not force:
                raise UsageError(
                    f"{self.folder}: holds decisions of other arguments or inputs; name another folder, or start over "
                    "with --force"
                )
            shutil.rmtree(self.folder)
        elif not path.exists() and self.folder.is_dir() and any(self.folder.iterdir()):
            raise UsageError(f"{self.folder}: is not empty and no folder of ours; name another one")
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(path, wanted)

    def shard(self, piece: Piece) -> Path:
        return self.folder / f"part-{piece.name}.parquet"

    def left(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces that nobody has done."""
        return [piece for piece in pieces if not self.shard(piece).exists()]

    def finish(self, pieces: Sequence[Piece]) -> Counts:
        """Write the manifest and return the sums; a shard that is missing or short is refused."""
        if missing := self.left(pieces):
            raise ReadError(f"{self.folder}: {len(missing):,} shards are missing; the same command goes on")
        shards = [counts_of(self.shard(piece)) for piece in pieces]
        for piece, found in zip(pieces, shards, strict=True):
            if found.rows != piece.rows:
                raise ReadError(
                    f"{self.shard(piece)}: {found.rows:,} rows were read of {piece.rows:,}; delete it and give the "
                    "same command again"
                )
        write_json(self.folder / MANIFEST, {"shards": [asdict(one) for one in shards]})
        shutil.rmtree(self.gathered, ignore_errors=True)
        names = ("rows", "questions", "unanswered", "failed", "problems")
        return Counts(str(self.folder), *(sum(getattr(one, name) for one in shards) for name in names))

    def problems(self) -> Iterator[Problem]:
        """What was wrong with rows, shard by shard."""
        for path in sorted(self.folder.glob("part-*.problems.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                yield Problem(**json.loads(line))


def counts_of(path: Path) -> Counts:
    """What the footer of a shard says."""
    with needed("shards need", "readers", UsageError):
        import pyarrow.parquet as parquet
    try:
        return Counts(**json.loads(parquet.read_metadata(path).metadata[_COUNTS]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReadError(
            f"{path}: damaged ({' '.join(str(error).split())}); delete it, the same command goes on"
        ) from None


@dataclass(frozen=True)
class DecideShard:
    """A piece in, its shard written: what an engine calls, in whichever process or machine."""

    decide: DecidePools
    folder: str

    def __call__(self, told: str, embedder: EmbedderChoice = None) -> str:
        """Decide on a piece and write its shard; a second time costs a look."""
        piece = Piece.of(told)
        path = ShardFolder(Path(self.folder)).shard(piece)
        if not path.exists():
            self._write(piece, path, embedder)
        return json.dumps(asdict(counts_of(path)))

    def _write(self, piece: Piece, path: Path, embedder: EmbedderChoice) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        problems: list[Problem] = []
        counts = Counts(path.name)
        lines = self.decide.lines(_counted(piece, problems), problems.append, _window(piece), embedder)
        with ExitStack() as stack:
            draft = stack.enter_context(replacing(path))
            writer = stack.enter_context(parquet.ParquetWriter(draft, arrow_schema(pyarrow, DECISION)))
            while block := list(islice(lines, _ROWS)):
                writer.write_table(arrow_table(pyarrow, block, DECISION))
                counts = replace(
                    counts,
                    questions=counts.questions + len(block),
                    unanswered=counts.unanswered + sum(line["answer"] is None for line in block),
                    failed=counts.failed + sum(line["problem"] is not None for line in block),
                )
            counts = replace(counts, rows=piece.rows, problems=len(problems))
            if problems:  # before the shard, which says that all is done
                write_lines(path.with_suffix(".problems.jsonl"), map(asdict, problems))
            writer.add_key_value_metadata({_COUNTS: json.dumps(asdict(counts))})


def _window(piece: Piece) -> int | None:
    """A partition is held anyway; in a file as it was given, questions stand together."""
    return None if piece.is_gathered else WINDOW_BYTES


def _counted(piece: Piece, problems: list[Problem]) -> Iterator[RecordAt]:
    """The rows of a piece; one more or less than was planned is no piece of this run."""
    count = 0
    for item in rows_of(piece):
        count += 1
        if isinstance(item, Problem):
            problems.append(item)
        else:
            yield item
    if count != piece.rows:
        raise ReadError(
            f"{', '.join(piece.files)}: {count:,} rows were read of {piece.rows:,} in piece {piece.name}; the file has "
            "changed or is damaged: restore it, the same command goes on"
        )


class GivenVectors:
    """An embedder that only looks up: vectors that another worker has computed."""

    def __init__(self, name: str, width: int, rows: Mapping[str, int], vectors: Any) -> None:
        self.name = name
        self.width = width
        self._rows = rows
        self._vectors = vectors

    def embed(self, texts: list[str]) -> Any:
        """The rows of the texts; one that nobody has embedded is an error, never a guess."""
        try:
            return self._vectors[[self._rows[text] for text in texts]]
        except KeyError as error:
            raise EmbeddingError(f"no vector was given for the text {str(error)[:60]}") from None
