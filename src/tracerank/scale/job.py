"""One run on an engine: questions are hashed into a fixed number of parts, each decided at once into one file.

A part's file is complete or absent and always has the same name, so neither a run that was killed nor a task that
the engine repeats can decide a question twice.
"""

import json
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tracerank.answers.exact import normalize_text
from tracerank.errors import TraceRankError, UsageError
from tracerank.extras import needed
from tracerank.readers.base import Problem
from tracerank.readers.sources.field_map import spelled
from tracerank.readers.sources.record_fields import QUESTION_FIELDS, sample_id_of
from tracerank.scale.decide_pools import SOURCE, DecidePools

PART, ROW = "_tracerank_part", "_tracerank_row"
"""Columns that an engine adds: the part of a row's question, and a number that grows within a file."""
DRAFT = "_draft-"
"""Begins the name of a file that is being written."""
ROWS = "rows"
"""Folder in the output in which an engine may keep the rows by part; removed before and after a run."""


@dataclass(frozen=True, slots=True)
class Job:
    """What an engine has to do; passed to its workers."""

    files: tuple[str, ...]
    decide: DecidePools
    output: str
    workers: int
    parts: int
    """Parts of the whole input."""
    missing: frozenset[int]
    """Parts without a file; the others were decided by an earlier run."""

    def key_column(self, columns: Sequence[str]) -> str:
        """The column whose values never differ between rollouts of one question."""
        paths = spelled(self.decide.reader).fields.paths
        mapped = [paths[name].partition(".")[0] for name in ("question_id", "question") if name in paths]
        # A bare id may be that of the rollout, so it comes last.
        for name in (*mapped, *(name for name in QUESTION_FIELDS if name != "id"), "id"):
            if name in columns:
                return name
        raise UsageError("no column says which question a row belongs to; name it with --map question_id=COLUMN")

    def is_numbered(self, columns: Sequence[str]) -> bool:
        """Whether a column holds the position of a rollout among those of its question."""
        has_map = "sample_id" in spelled(self.decide.reader).fields.paths
        return has_map or sample_id_of(dict.fromkeys(columns, 0)) is not None

    def parts_of(self, keys: Iterable[Any]) -> list[int]:
        """The part of each key."""
        return [zlib.crc32(normalize_text(str(key)).encode("utf-8", "replace")) % self.parts for key in keys]

    def decide_part(self, rows: Any) -> str:
        """Write the decisions on all rows of a part; returns an error that would stop every other part, or ""."""
        import pyarrow
        from pyarrow import parquet

        part = rows.column(PART)[0].as_py()
        problems: list[Problem] = []
        try:
            decisions = self.decide(self._in_order(rows), problems.append)
            folder = OutputFolder(self.output)
            if problems:
                lines = "".join(json.dumps(asdict(problem)) + "\n" for problem in problems)
                folder.write(f"problems-{part:05}.jsonl", lines.encode())
            buffer = pyarrow.BufferOutputStream()
            parquet.write_table(decisions, buffer)
            folder.write(part_file(part), buffer.getvalue())
        except TraceRankError as error:
            return str(error)
        return ""

    def _in_order(self, rows: Any) -> Any:
        """The rows in the order of the input, without the columns that an engine added."""
        index = {_bare(name): index for index, name in enumerate(self.files)}
        files = rows.column(SOURCE).to_pylist() if SOURCE in rows.column_names else [""] * len(rows)
        keys = zip((index.get(_bare(name), 0) for name in files), rows.column(ROW).to_pylist(), strict=True)
        order = [row for _, row in sorted((key, row) for row, key in enumerate(keys))]
        return rows.take(order).drop_columns([PART, ROW])


def _bare(name: str) -> str:
    """A path or an address without its scheme, which engines leave out or add."""
    return name.rpartition("://")[2]


def part_file(part: int) -> str:
    return f"part-{part:05}.parquet"


class OutputFolder:
    """A folder on this machine or in a store that pyarrow can write to; files in it are complete or absent."""

    def __init__(self, name: str) -> None:
        with needed("engines need", "readers", UsageError):
            from pyarrow import fs
        self.is_local = "://" not in name
        self.name = str(Path(name).absolute()) if self.is_local else name.rstrip("/")
        try:
            self.files, self.path = fs.FileSystem.from_uri(self.name)
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.name}: {error}; name a folder, or an address such as s3://bucket/folder") from None
        self._everything = fs.FileSelector(self.path, allow_not_found=True)

    def names(self) -> list[str]:
        """The names in it; a folder that does not exist is empty."""
        return sorted(found.base_name for found in self.files.get_file_info(self._everything))

    def read(self, name: str) -> bytes:
        with self.files.open_input_stream(f"{self.path}/{name}") as stream:
            return bytes(stream.read())

    def write(self, name: str, data: Any) -> None:
        """Write a draft, then give it its name."""
        self.files.create_dir(self.path, recursive=True)
        draft = f"{self.path}/{DRAFT}{uuid4().hex}"
        with self.files.open_output_stream(draft) as stream:
            stream.write(data)
        self.files.move(draft, f"{self.path}/{name}")

    def table(self, name: str, columns: list[str] | None = None) -> Any:
        """A Parquet file, or a folder of them."""
        from pyarrow import parquet

        return parquet.read_table(f"{self.path}/{name}", columns=columns, filesystem=self.files, partitioning=None)

    def clear(self) -> None:
        """Remove what is left of unfinished work."""
        for name in self.names():
            with suppress(FileNotFoundError):  # a worker that outlived a killed run may have moved its draft meanwhile
                if name == ROWS:
                    self.files.delete_dir(f"{self.path}/{name}")
                elif name.startswith(DRAFT):
                    self.files.delete_file(f"{self.path}/{name}")
