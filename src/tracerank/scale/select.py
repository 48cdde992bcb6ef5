"""``tracerank select`` on an engine: which files are read, which parts are missing, and the sums at the end."""

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracerank.errors import ReadError, TraceRankError, UsageError
from tracerank.methods import method_identity
from tracerank.readers.base import PathLike
from tracerank.readers.sources.open import find_files
from tracerank.readers.sources.remote import is_remote, remote_identity
from tracerank.runs.locks import alone_with
from tracerank.scale.daft_engine import decide_on_daft
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.job import DRAFT, Job, OutputFolder, part_file
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
    on_progress: Callable[[int, int], object] = lambda done, parts: None,
) -> Counts:
    """Decide on all questions of Parquet files into a folder; the same call completes a run that was interrupted.

    Rows are rollouts, in any order and over any files, or whole pools. ``on_progress`` receives the parts that are
    done and all parts. Raises UsageError where the folder belongs to another run, unless ``force`` is set.
    """
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
        try:
            for row in ENGINES[engine](job):
                if row["error"]:
                    raise ReadError(row["error"])
                decided.add(part_file(row["part"]))
                on_progress(parts - len(missing) + len(decided), parts)
        except TraceRankError:
            raise
        except Exception as error:  # whatever an engine raises, in one line
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
            raise ReadError(f"{engine} stopped ({lines[-1][:300]}); the same command completes the run") from error
        if not decided <= set(folder.names()):
            raise ReadError(f"{folder.name}: parts are missing; all workers must see this folder")
        counts = _counts(folder)
        folder.clear()
        folder.write(RUN, json.dumps({**run, "counts": asdict(counts)}).encode())
    return counts


def _parquet_files(inputs: Sequence[PathLike]) -> tuple[str, ...]:
    """The files of the inputs, in the order in which ``select`` reads them, without markers such as ``_SUCCESS``."""
    names = [name for path in inputs for name in find_files(path).names if not os.path.basename(name).startswith("_")]
    if not names:
        raise ReadError(f"{inputs[0]}: no Parquet files there; check the path")
    if other := next((name for name in names if not name.lower().endswith((".parquet", ".pq"))), None):
        raise ReadError(f"{other}: engines read Parquet files only; use --engine local")
    return tuple(name if is_remote(name) else os.path.abspath(name) for name in names)


def _settings(files: Sequence[str], decide: DecidePools) -> dict[str, Any]:
    """What distinguishes one run from another; files by size and time, since they may be terabytes."""
    found = [
        remote_identity(name)
        if is_remote(name)
        else {"path": name, "bytes": os.path.getsize(name), "mark": os.path.getmtime(name)}
        for name in files
    ]
    method, options = method_identity(decide.method), decide.options.identity()
    described = {"files": found, "reader": decide.reader, "k": decide.k, "method": method, "options": options}
    return dict(json.loads(json.dumps(described)))


def _begin(folder: OutputFolder, settings: dict[str, Any], force: bool) -> dict[str, Any]:
    """The run that the folder belongs to; this one if it is empty."""
    names = [name for name in folder.names() if not name.startswith(DRAFT)]
    if names and RUN not in names:
        raise UsageError(f"{folder.name}: is not empty and no output of an engine; name another folder")
    if names:
        run: dict[str, Any] = json.loads(folder.read(RUN))
        if not force:
            if run["settings"] == settings:
                return run
            raise UsageError(f"{folder.name}: holds another run; name another folder, or overwrite it with --force")
        folder.files.delete_dir_contents(folder.path)
    size = sum(file.get("bytes") or 0 for file in settings["files"])
    run = {"settings": settings, "parts": max(MIN_PARTS, -(-size // PART_BYTES))}
    folder.write(RUN, json.dumps(run).encode())
    return run


def _counts(folder: OutputFolder) -> Counts:
    """The sums over all parts."""
    sums: Counter[str] = Counter()
    for name in folder.names():
        if name.startswith("part-"):  # one after the other: answers of millions of questions do not fit into memory
            table = folder.table(name, ["answer", "problem"])
            failed = len(table) - table.column("problem").null_count
            sums.update(questions=len(table), unanswered=table.column("answer").null_count, failed=failed)
        elif name.startswith("problems-"):
            sums["problems"] += folder.read(name).count(b"\n")
    return Counts(**sums)
