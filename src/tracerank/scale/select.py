"""``tracerank select`` on an engine: which files are read, which parts are missing, and the sums at the end."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracerank.errors import ReadError, TraceRankError, UsageError
from tracerank.methods import method_identity
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.records import PathLike
from tracerank.readers.files.remote import is_remote, remote_identity
from tracerank.runs.locks import alone_with
from tracerank.scale.daft_engine import decide_on_daft
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.job import Job, OutputFolder, part_file
from tracerank.scale.ray_engine import decide_on_ray

PART_BYTES = 2 * 2**20
"""Of compressed rows in a part; as Python objects they take about ten times as much."""
MIN_PARTS = 8
"""So that several workers have something to do."""
RUN = "run.json"
ENGINES = {"daft": decide_on_daft, "ray": decide_on_ray}


@dataclass(frozen=True, slots=True)
class Counts:
    """What the output of a run holds."""

    questions: int = 0
    unanswered: int = 0
    """Questions without an answer."""
    failed: int = 0
    """Questions on which the method or its server failed."""
    problems: int = 0
    """Rows that could not be used: the lines of the files ``problems-*.jsonl``."""


def select_on_engine(
    engine: str,
    inputs: Sequence[PathLike],
    output: PathLike,
    decide: DecidePools,
    *,
    workers: int | None = None,
    force: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Counts:
    """Decide on all questions of Parquet files into a folder; the same call completes a run that was interrupted.

    Rows are rollouts, in any order and over any files, or whole pools. ``on_progress`` receives the parts that are
    done and all parts. Raises UsageError where the folder belongs to another run, unless ``force`` is set.
    """
    if engine not in ENGINES:
        raise UsageError(f"--engine {engine}: expected one of {', '.join(ENGINES)}")
    files = _parquet_files(inputs)
    folder = OutputFolder(os.fspath(output))
    if folder.is_local and Path(folder.name).is_file():
        raise UsageError(f"{folder.name}: is a file; an engine writes a folder")
    if any(name.startswith(f"{folder.name}/") for name in files):
        raise UsageError(f"{folder.name}: holds files that are read; write elsewhere")
    if folder.is_local:
        Path(folder.name).parent.mkdir(parents=True, exist_ok=True)
    with alone_with(Path(folder.name)) if folder.is_local else nullcontext():
        run = _begin(folder, _settings(files, decide), force)
        if "counts" in run:
            return Counts(**run["counts"])
        folder.clear()
        parts, there = run["parts"], set(folder.names())
        missing = frozenset(part for part in range(parts) if part_file(part) not in there)
        job = Job(files, decide, folder.name, workers or os.cpu_count() or 1, parts, missing)
        decided: set[str] = set()
        with _one_line(engine):
            for row in ENGINES[engine](job):
                if row["error"]:
                    raise ReadError(row["error"])
                decided.add(part_file(row["part"]))
                if on_progress is not None:
                    on_progress(parts - len(missing) + len(decided), parts)
        if not decided <= set(folder.names()):
            raise ReadError(f"{folder.name}: parts are missing; all workers must see this folder")
        counts = _counts(folder)
        folder.clear()
        folder.write(RUN, json.dumps({**run, "counts": asdict(counts)}).encode())
    return counts


def _parquet_files(inputs: Sequence[PathLike]) -> tuple[str, ...]:
    """The files of the inputs, in the order in which ``select`` reads them, without markers such as ``_SUCCESS``."""
    found = [find_files(path) for path in inputs]
    names = [name for one in found for name in one.names if not os.path.basename(name).startswith("_")]
    if not names:
        raise ReadError(f"{inputs[0]}: no Parquet files there; check the path")
    if other := next((name for name in names if not name.lower().endswith((".parquet", ".pq"))), None):
        raise ReadError(f"{other}: engines read Parquet files only; use --engine local")
    return tuple(name if is_remote(name) else os.path.abspath(name) for name in names)


def _settings(files: Sequence[str], decide: DecidePools) -> dict[str, Any]:
    """What distinguishes one run from another; files by size and time, since they may be terabytes."""
    method = method_identity(decide.method)
    described = {"reader": decide.reader, "k": decide.k, "method": method, "options": decide.options.identity()}
    return dict(json.loads(json.dumps({"files": list(map(_identity, files)), **described})))


def _identity(name: str) -> dict[str, Any]:
    if is_remote(name):
        return remote_identity(name)
    return {"path": name, "bytes": os.path.getsize(name), "mark": os.path.getmtime(name)}


def _begin(folder: OutputFolder, settings: dict[str, Any], force: bool) -> dict[str, Any]:
    """The run that the folder belongs to; this one if it is empty."""
    names = folder.names()
    if names and RUN not in names:
        raise UsageError(f"{folder.name}: is not empty and no output of an engine; name another folder")
    if names:
        run: dict[str, Any] = json.loads(folder.read(RUN))
        if not force and run["settings"] == settings:
            return run
        if not force:
            raise UsageError(f"{folder.name}: holds another run; name another folder, or overwrite it with --force")
        folder.files.delete_dir_contents(folder.path)
    size = sum(file.get("bytes") or 0 for file in settings["files"])
    run = {"settings": settings, "parts": max(MIN_PARTS, -(-size // PART_BYTES))}
    folder.write(RUN, json.dumps(run).encode())
    return run


def _counts(folder: OutputFolder) -> Counts:
    """The sums over all parts."""
    questions = unanswered = failed = problems = 0
    for name in folder.names():
        if name.startswith("part-"):
            table = folder.table(name, ["answer", "problem"])
            questions += len(table)
            unanswered += table.column("answer").null_count
            failed += len(table) - table.column("problem").null_count
        elif name.startswith("problems-"):
            problems += folder.read(name).count(b"\n")
    return Counts(questions, unanswered, failed, problems)


@contextmanager
def _one_line(engine: str) -> Iterator[None]:
    """Whatever an engine raises, in one line."""
    try:
        yield
    except TraceRankError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise ReadError(f"{engine} stopped ({lines[-1][:300]}); the same command completes the run") from error
