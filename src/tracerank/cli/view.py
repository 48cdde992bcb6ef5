"""``tracerank view``: pools and decisions as one page for the browser."""

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tracerank.cli.arguments import (
    AllowMismatch,
    Chat,
    ChatContext,
    ChatTime,
    ChatTokens,
    Checkpoint,
    Equality,
    Files,
    FirstK,
    Force,
    Form,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
    Seed,
    written_place,
)
from tracerank.cli.output import SOME_FAILED, check_output
from tracerank.cli.reading import Failures, Problems, pools_of
from tracerank.cli.terminal import note, working
from tracerank.errors import UndecidedPool
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.runs.atomic import whole_file
from tracerank.selectors.table import METHOD_NAMES, METHODS, MethodOptions, fitted_by, method_named, own_options
from tracerank.votes.base import Method, OnFailure, settled
from tracerank.votes.selector import SHIPPED as SHIPPED_NAMES

DEFAULTS = MethodOptions()
SELECTOR, SHIPPED = "selector", "the shipped selector"
NAMED_FILES = 3
"""Of the files, as many stand in the head of the page; the others are counted."""
Output = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="FILE", callback=written_place, help="The page to write, as HTML.", show_default=False
    ),
]
Chosen = Annotated[
    str, typer.Option("--method", metavar="NAME", help=f"What decides; known are {', '.join(METHOD_NAMES)}.")
]


def view(
    files: Files,
    output: Output,
    checkpoint: Checkpoint = None,
    method: Chosen = "selector",
    k: FirstK = None,
    reader: ReaderName = AUTO,
    equality: Equality = DEFAULTS.equality,
    form: Form = None,
    chat: Chat = None,
    chat_context: ChatContext = None,
    chat_tokens: ChatTokens = None,
    chat_time: ChatTime = None,
    seed: Seed = 0,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Write one page that shows rollouts side by side, the evidence that they share and what spoke for the winner.

    The page holds everything, loads nothing from the network and opens from disk. With a checkpoint, the attention of
    each answer on its own evidence is shown; the vote has none.
    """
    check_output(output, files, force)
    options = MethodOptions(
        checkpoint,
        encoder,
        allow_encoder_mismatch,
        equality,
        chat,
        seed,
        chat_context,
        form=form,
        chat_tokens=chat_tokens,
        chat_time=chat_time,
    )
    with ExitStack() as stack:
        report = stack.enter_context(Problems(problems, keep=(*files, output)))
        bar = stack.enter_context(working("loading", quiet=quiet))
        pools = bar.over(pools_of(files, reader, report, k))
        chosen = method_named(method, options)
        bar.describe("explaining")
        called = called_by(method, options)
        failed = Failures("questions", report)
        size = write_page(output, pools, chosen, options, files, called, fitted_by([method], options), failed)
    if not quiet:
        note(f"{size / 1e6:,.1f} MB written to {output}; open it in a browser")
    if failed.count:
        note(f"{failed.sentence(called)}; they are not on the page")
        raise typer.Exit(SOME_FAILED)


def called_by(asked: str, options: MethodOptions) -> str:
    """What decides, as the user named it: the method, and the checkpoint where one was given."""
    name, own = own_options(asked, options)
    if own.checkpoint is None or name not in METHODS or not METHODS[name].takes_folder:
        return SHIPPED if name == SELECTOR else name
    return f"{SHIPPED} {own.checkpoint}" if own.checkpoint in SHIPPED_NAMES else f"{name} {own.checkpoint}"


def write_page(
    output: Path,
    pools: Iterable[Pool],
    method: Method,
    options: MethodOptions,
    files: Sequence[Path],
    called: str | None = None,
    fitted: Container[Pool] = (),
    on_failure: OnFailure | None = None,
) -> int:
    """The page of these pools, written all or not at all; how many bytes it has.

    ``fitted`` holds the pools whose questions the method was fitted on. Pools on which it fails are left out, and told.
    """
    from tracerank.viewer.page import About, page_parts
    from tracerank.viewer.question_data import question_data
    from tracerank.votes.explanation import explain_stream

    vote = method_named("majority", options)

    def shown(some: Iterable[Pool]) -> Iterator[dict[str, Any] | str]:
        """What the page shows of each, or why it cannot."""
        for pool, explanation in explain_stream(method, some):
            yield explanation.decision.problem or question_data(pool, explanation, vote, pool in fitted)

    def questions() -> Iterator[dict[str, Any]]:
        for pool, data in settled(shown, pools, None if on_failure is None else lambda _, error: error.reason):
            if isinstance(data, dict):
                yield data
            elif on_failure is None:
                raise UndecidedPool(pool.question.id, data)
            else:
                on_failure(pool, data)

    about = About(_title(files), called or method.name, is_vote=method.name == vote.name)
    with whole_file(output) as file:
        return sum(file.write(part) for part in page_parts(questions(), about))


def _title(files: Sequence[Path]) -> str:
    """The files as the user named them; of many, the first."""
    named = [str(path) for path in files[:NAMED_FILES]]
    more = len(files) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")
