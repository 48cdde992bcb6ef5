"""``tracerank convert``: rollouts of any known format in the canonical one, or in ATIF."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs, check_lines, check_output
from tracerank.cli.terminal import note
from tracerank.errors import UsageError

if TYPE_CHECKING:  # what takes longer to import than --help may take
    from tracerank.pools.pool import Pool
    from tracerank.readers.base import Problem

CANONICAL, ATIF = "canonical", "atif"


@click.command(epilog=opt.example("tracerank convert logs/*.jsonl -o pools.jsonl.gz"))
@opt.output_option("File to write: .jsonl, .jsonl.gz or .parquet. It appears when it is complete.", required=True)
@opt.choice("--to", (CANONICAL, ATIF), "Format to write.", default=CANONICAL)
@opt.inputs_options(k=False)
@opt.force_option
def convert(output: Path, to: str, inputs: Inputs, force: bool) -> None:
    """Convert rollouts of any known format to the canonical one or to ATIF.

    Rollouts are grouped by question; those that can never be chosen are kept. Files are streamed, unless the
    rollouts of a question are far apart: then everything is read again and held in memory.
    """
    from tracerank.pools.arrow_rows import PARQUET, RowWriter
    from tracerank.pools.atif_export import rollout_to_trajectory
    from tracerank.pools.canonical import rollout_to_record
    from tracerank.readers.runs.pools import ScatteredPool
    from tracerank.readers.runs.transcripts import ScatteredRollout
    from tracerank.runs.atomic import line_of, packed, whole_file

    check_output(output, inputs.files, force)
    is_table = to == CANONICAL and output.suffix.lower() == PARQUET
    if not is_table:
        check_lines(output)
    if output.exists() and not output.is_file():
        raise UsageError(f"{output}: not a regular file")
    record_of = rollout_to_trajectory if to == ATIF else rollout_to_record
    written, met = Counter[str](), set["Problem"]()

    def write(pools: "Iterable[Pool]") -> None:
        written.clear()
        with whole_file(output) as file, ExitStack() as stack:
            if is_table:
                add: Callable[[list[dict[str, Any]]], object] = stack.enter_context(RowWriter(file, output)).write
            else:
                lines = stack.enter_context(packed(output, file))
                add = lambda records: lines.write(b"".join(map(line_of, records)))  # noqa: E731
            for pool in pools:
                written.update(questions=1, rollouts=len(pool.rollouts))
                add([record_of(pool.question, one) for one in pool.rollouts])

    def report(problem: "Problem") -> None:
        if problem not in met:  # files may be read twice
            met.add(problem)
            problems(problem)

    with inputs.opened("converting", (output,)) as (_, progress, problems):
        try:
            write(progress.over(inputs.pools(report)))
        except (ScatteredPool, ScatteredRollout):
            progress.describe("reading everything: rollouts of a question are far apart")
            write(progress.over(inputs.pools(report, is_grouped=False)))
    if not inputs.quiet:
        counts = f"{written['questions']:,} questions, {written['rollouts']:,} rollouts"
        note(f"{counts}, {problems.count:,} problems; written to {output}")
