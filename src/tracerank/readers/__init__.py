"""Any transcript file to pools. Holds the two entry points; each format has its own module."""

import os
import warnings
from collections.abc import Iterable, Iterator

from tracerank.pools.pool import Pool
from tracerank.readers.base import Parsed, Reader, Record
from tracerank.readers.detect import AUTO, READERS, assign_readers, reader_named
from tracerank.readers.grouping import WINDOW_BYTES, Placed, Report, group, parse_record
from tracerank.readers.records import PathLike, Problem, RecordAt, iter_records

__all__ = ["READERS", "Parsed", "Problem", "Reader", "Record", "RolloutWarning", "iter_pools", "read_pools"]


class RolloutWarning(UserWarning):
    """A rollout that could not be used as it stands."""


def read_pools(
    paths: PathLike | Iterable[PathLike], reader: str | Reader = AUTO, on_problem: Report | None = None
) -> list[Pool]:
    """All pools of one or several files, rollouts grouped by question across them."""
    return list(iter_pools(paths, reader, on_problem, window_bytes=None))


def iter_pools(
    paths: PathLike | Iterable[PathLike],
    reader: str | Reader = AUTO,
    on_problem: Report | None = None,
    window_bytes: int | None = WINDOW_BYTES,
) -> Iterator[Pool]:
    """The same one by one, in constant memory as long as a question's rollouts stand near each other."""
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    chosen = (None if reader == AUTO else reader_named(reader)) if isinstance(reader, str) else reader
    report = on_problem or _warn
    return group(_placed(files, chosen, report), report, window_bytes)


def _placed(files: list[PathLike], reader: Reader | None, report: Report) -> Iterator[Placed]:
    for path in files:
        records = _sound(iter_records(path), report)
        assigned = assign_readers(records) if reader is None else ((reader, item) for item in records)
        for chosen, item in assigned:
            placed = parse_record(chosen, item, report)
            if placed is not None:
                yield placed


def _sound(items: Iterable[RecordAt | Problem], report: Report) -> Iterator[RecordAt]:
    for item in items:
        if isinstance(item, Problem):
            report(item)
        else:
            yield item


def _warn(problem: Problem) -> None:
    warnings.warn(str(problem), RolloutWarning, stacklevel=2)
