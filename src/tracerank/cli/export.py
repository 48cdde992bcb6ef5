"""``tracerank export``: rollouts as data for other tools."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AsJson, Checkpoint, Files, FirstK, Force, ProblemsFile, Quiet, ReaderName
from tracerank.cli.output import check_output
from tracerank.cli.problems import Problems
from tracerank.cli.progress import working
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import note, print_json
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.whole_files import write_lines
from tracerank.readers.detect import AUTO
from tracerank.selectors.table import METHOD_NAMES, MethodOptions, method_named

if TYPE_CHECKING:
    from tracerank.agents.sft import Choice, Examples

DEFAULT_METHOD = "selector"


class KeepName(StrEnum):
    """What ``--keep`` takes."""

    CORRECT = "correct"
    SELECTED = "selected"


class RebuildName(StrEnum):
    """What ``--style`` takes."""

    TOOLS = "tools"
    TAGS = "tags"


Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FILE", help="File to write; gzip if it ends with .gz.", show_default=False),
]
Keep = Annotated[
    KeepName,
    typer.Option(
        "--keep",
        metavar="NAME",
        help="Which rollouts: correct (label 1) or selected (what --method selects, then those with the same answer).",
    ),
]
MethodChoice = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help=f"What selects, beside --keep selected: {', '.join(METHOD_NAMES)}; {DEFAULT_METHOD} if not given.",
        show_default=False,
    ),
]
PerQuestion = Annotated[
    int,
    typer.Option(
        "--per-question",
        metavar="N",
        min=1,
        help="Most conversations of a question; those without failed calls first, then those with the fewest searches.",
    ),
]
Style = Annotated[
    RebuildName,
    typer.Option(
        "--style",
        metavar="NAME",
        help="How conversations that were not kept are rebuilt: tools (function calls) or tags.",
    ),
]

export = typer.Typer(no_args_is_help=True, help="Write rollouts as data for other tools.")


@export.callback()
def _group() -> None:
    """Keeps ``sft`` a word of its own while it is the only command."""


@export.command(epilog="Example:\n\ntracerank export sft pools.jsonl -o train.jsonl --per-question 2")
def sft(
    files: Files,
    output: Output,
    keep: Keep = KeepName.CORRECT,
    method: MethodChoice = None,
    checkpoint: Checkpoint = None,
    per_question: PerQuestion = 1,
    style: Style = RebuildName.TOOLS,
    k: FirstK = None,
    reader: ReaderName = AUTO,
    force: Force = False,
    problems: ProblemsFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write successful rollouts as conversations to train a chat model on (rejection sampling).

    One JSON object a line: messages, tools if any are called, question_id, sample_id and the reason why the rollout
    was kept. Conversations that were kept are written verbatim.
    """
    from tracerank.agents.sft import examples_of

    if keep is KeepName.CORRECT and (method or checkpoint):
        raise UsageError("--method and --checkpoint are of use only beside --keep selected")
    check_output(output, files, force)
    tally = _Tally()
    with Problems(problems, keep=(*files, output)) as report, working("exporting", quiet=quiet) as bar:
        pools = bar.over(pools_of(files, reader, report, k))
        chosen = _correct(pools) if keep is KeepName.CORRECT else _selected(pools, method or DEFAULT_METHOD, checkpoint)
        exported = (examples_of(pool, choices, str(style), per_question) for pool, choices in chosen)
        write_lines(output, (record for examples in map(tally.add, exported) for record in examples.records))
    if as_json:
        print_json(asdict(tally), indent=2)
    elif not quiet:
        note(f"{tally}; written to {output}")


def _correct(pools: Iterator[Pool]) -> Iterator[tuple[Pool, "list[Choice]"]]:
    from tracerank.agents.sft import correct_rollouts

    return ((pool, correct_rollouts(pool)) for pool in pools)


def _selected(pools: Iterator[Pool], name: str, checkpoint: str | None) -> Iterator[tuple[Pool, "list[Choice]"]]:
    from tracerank.agents.sft import selected_rollouts
    from tracerank.methods.base import decide_stream

    method = method_named(name, MethodOptions(checkpoint))
    return ((pool, selected_rollouts(pool, decision, method.name)) for pool, decision in decide_stream(method, pools))


@dataclass(slots=True)
class _Tally:
    """What was written and what not."""

    questions: int = 0
    conversations: int = 0
    rebuilt: int = 0
    """Of the conversations."""
    lost: int = 0
    """Rollouts whose conversation was not kept and cannot be rebuilt."""
    without: int = 0
    """Questions without a conversation."""

    def add(self, examples: "Examples") -> "Examples":
        self.questions += 1
        self.conversations += len(examples.records)
        self.rebuilt += examples.rebuilt
        self.lost += examples.lost
        self.without += not examples.records
        return examples

    def __str__(self) -> str:
        lost = f"; {self.lost:,} rollouts whose conversation cannot be rebuilt" if self.lost else ""
        return (
            f"{self.conversations:,} conversations of {self.questions - self.without:,} questions, "
            f"{self.rebuilt:,} of them rebuilt; {self.without:,} questions without one{lost}"
        )
