"""``tracerank select`` on Daft or Ray: which engine is meant, and what the terminal is told while it works."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from importlib.util import find_spec
from os.path import basename
from pathlib import Path
from typing import Any

import typer

from tracerank.cli.output import SOME_FAILED
from tracerank.cli.terminal import note, working
from tracerank.errors import ReadError, UsageError
from tracerank.readers.files.field_map import ASKED
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.records import Problem
from tracerank.selectors.table import MethodOptions

_NAMES = ("local", "daft", "ray")
Told = AbstractContextManager[Callable[[Problem], None]]
_PARQUET = (".parquet", ".pq")
_FILES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
"""Ends of what the local loop writes."""
_METHOD_OPTIONS = tuple(MethodOptions.__dataclass_fields__)


def engine_for(name: str | None, options: Mapping[str, Any]) -> str | None:
    """The engine of a run; None: none, the command itself does it."""
    if name is not None and name not in _NAMES:
        raise UsageError(f"--engine {name}: expected one of {', '.join(_NAMES)}")
    if name is not None:
        return name
    is_asked_elsewhere = ASKED in options["reader"] or options.get("escalate") is not None
    if options["output"] is None or is_asked_elsewhere or find_spec("daft") is None:
        return None
    if _are_folders_of_parquet(options["files"]):
        return "daft"
    return None


def _are_folders_of_parquet(paths: list[Path]) -> bool:
    """Whether every path is a folder, or a pattern, of nothing but Parquet files."""
    try:
        found = [find_files(path) for path in paths]
    except ReadError:
        return False  # the command says what is wrong
    return all(one.place is not None and _are_parquet(one.names) for one in found)


def _are_parquet(names: Iterable[str]) -> bool:
    ends = [name.lower().endswith(_PARQUET) for name in names if not basename(name).startswith("_")]
    return bool(ends) and all(ends)


def run_engine(engine: str, given: Mapping[str, Any], options: Mapping[str, Any], problems: Told) -> None:
    """Decide on an engine and say what came of it; ``problems`` is told what was wrong with rows."""
    from tracerank.scale.decide_pools import DecidePools
    from tracerank.scale.pieces import Plan
    from tracerank.scale.places import Place
    from tracerank.scale.run import EngineOptions, select_on_engine
    from tracerank.scale.shards import ShardFolder

    output: Path | None = options["output"]
    if output is None or output.suffix.lower() in _FILES:
        raise UsageError(f"--engine {engine} writes a folder of shards; name it with -o FOLDER")
    if ASKED in options["reader"]:
        raise UsageError(f"--questions: --engine {engine} reads what was asked from the rows; take --engine local")
    if options.get("escalate") is not None or options.get("below") is not None:
        raise UsageError(f"--escalate asks another method where this one is unsure, which --engine {engine} cannot yet")
    method = MethodOptions(**{name: options[name] for name in _METHOD_OPTIONS if name in options})
    decide = DecidePools(options["method"], method, options["k"], options["reader"])
    run = EngineOptions(
        engine,
        options["workers"] or os.cpu_count() or 1,
        bool(given["sharded"]),
        given["partitions"],
        given["gpus"] or 0.0,
        given["embedders"] or 0,
    )
    quiet = options["quiet"]
    with working("planning", unit="shards", quiet=quiet) as bar:

        def planned(plan: Plan, left: int) -> None:
            if not quiet:
                count, done = len(plan.pieces), len(plan.pieces) - left
                shards = f"{count:,} shard{'' if count == 1 else 's'}"
                note(f"{plan.why}; {shards}{f', {done:,} done before' if done else ''}")
            bar.describe("selecting")

        counts = select_on_engine(
            options["files"],
            output,
            decide,
            run,
            force=options["force"],
            on_plan=planned,
            on_shard=lambda _: bar.advance(),
        )
    with problems as report:
        for problem in ShardFolder(Place(str(output))).problems():
            report(problem)
    if not quiet:
        note(
            f"{counts.questions:,} questions, {counts.unanswered:,} of them without an answer; {counts.rows:,} rollouts"
        )
    if counts.failed:
        note(f"{counts.failed:,} questions were not decided; their rows say why (column problem)")
        raise typer.Exit(SOME_FAILED)
