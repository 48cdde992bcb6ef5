"""Rows on their way to their question's partition: what an engine moves, and what it has put where.

A row is its record as JSON, since files need not agree about their columns, with its place in the input, so that
rollouts without a number keep their order. The engines do the moving.
"""

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracerank.errors import ReadError
from tracerank.extras import needed
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.scale.pieces import Piece, opened, rows_of
from tracerank.scale.places import Place
from tracerank.scale.questions import Questions

GATHERED = "gathered"
"""Folder in that of the run; goes when the run is complete."""
PARTITION, ORDER, SOURCE, SIZE, RECORD, PROBLEM = "partition", "order", "source", "size", "record", "problem"
_FOLDER = re.compile(rf"{GATHERED}/{PARTITION}=(\d+)/")


def rows_to_gather(piece: Piece, place: int, partitions: int, reader: str) -> Iterator[dict[str, Any]]:
    """The rows of a piece with the partition that each belongs to; ``place`` orders the pieces.

    One that cannot be decoded goes along, as what is wrong with it.
    """
    questions = Questions.of(reader)
    for number, item in enumerate(rows_of(piece)):
        row: dict[str, Any] = {PARTITION: 0, ORDER: (place << 40) + number, SOURCE: item.source, SIZE: 0, RECORD: b""}
        if isinstance(item, Problem):
            yield {**row, PROBLEM: item.reason}
            continue
        key = questions.of_record(item.value).key
        # As the standard library spells it: half characters, numbers of any length and those that are none survive.
        packed = json.dumps(item.value).encode()
        partition = zlib.crc32(key.encode("utf-8", "replace")) % partitions
        yield {**row, PARTITION: partition, SIZE: item.size, RECORD: packed, PROBLEM: None}


def gathered_pieces(place: Place) -> list[Piece]:
    """A piece for each partition that holds rows."""
    files: dict[int, list[str]] = {}
    for name in place.names(GATHERED):
        if (found := _FOLDER.match(name)) is not None:
            files.setdefault(int(found[1]), []).append(place.at(name))
    pieces = []
    for number, names in sorted(files.items()):
        rows = 0
        for name in names:
            with opened(name) as file:
                rows += file.metadata.num_rows
        pieces.append(Piece(f"{number:05}", tuple(names), rows=rows, is_gathered=True))
    return pieces


def gathered_rows(piece: Piece) -> Iterator[RecordAt | Problem]:
    """The rows of a partition in the order of the input."""
    with needed("gathered rows need", "readers", ReadError):
        import pyarrow
    tables = []
    for name in piece.files:
        with opened(name) as file:
            tables.append(file.read(columns=[ORDER, SOURCE, SIZE, RECORD, PROBLEM], use_threads=False))
    table = pyarrow.concat_tables(tables)
    columns = [table.column(name) for name in (SOURCE, SIZE, RECORD, PROBLEM)]
    for place in np.argsort(table.column(ORDER).to_numpy(), kind="stable").tolist():
        source, size, record, problem = (column[place].as_py() for column in columns)
        yield RecordAt(json.loads(record), source, size) if problem is None else Problem(source, problem)
