"""The command line put together: which commands there are, and how an error ends one."""

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tracerank.cli.ablate import ablate
from tracerank.cli.budget import budget
from tracerank.cli.cache import cache, embed
from tracerank.cli.calibrate import calibrate
from tracerank.cli.corpus import corpus
from tracerank.cli.cost import cost
from tracerank.cli.demo import demo
from tracerank.cli.evaluate import evaluate
from tracerank.cli.export import convert, export
from tracerank.cli.fit import fit
from tracerank.cli.inspect import inspect
from tracerank.cli.reading import reads
from tracerank.cli.report import report
from tracerank.cli.rollout import rollout
from tracerank.cli.select import select
from tracerank.cli.serve import mcp, serve
from tracerank.cli.stats import stats
from tracerank.cli.terminal import installed_version, note
from tracerank.cli.train import train
from tracerank.cli.view import view
from tracerank.cli.world import world
from tracerank.errors import TraceRankError
from tracerank.extras import missing_library

UNUSABLE = 2
"""Exit code for input or arguments that cannot be used, the same that Typer gives for a wrong option."""
INTERRUPTED = 130


class Commands(TyperGroup):
    """All commands; what goes wrong in one ends in a line, not in a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a pipe closed by its reader is noticed here rather than at exit
        except TraceRankError as error:
            note(f"error: {error}")
            raise typer.Exit(UNUSABLE) from None
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # Typer ends quietly: nobody reads any more
        except ImportError as error:
            if (line := missing_library(error)) is None:
                raise
            note(f"error: {line}")
            raise typer.Exit(UNUSABLE) from None
        except OSError as error:
            note(f"error: {error.filename or 'the output'}: {error.strerror or error}")
            raise typer.Exit(UNUSABLE) from None
        return result


app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"tracerank {installed_version()}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Choose the best existing answer among K completed search-agent rollouts."""


EXAMPLE = "Example:\n\n"

# A command is a function in a module of its own that imports torch, and whatever needs it, inside the function only.
app.command(epilog=f"{EXAMPLE}tracerank select pools.jsonl --checkpoint checkpoints/webqa -k 16 -o out.jsonl")(
    reads(select)
)
app.command(epilog=f"{EXAMPLE}tracerank evaluate pools.jsonl --checkpoint checkpoints/webqa -k 2,4,8,16")(
    reads(evaluate)
)
app.command(epilog=f"{EXAMPLE}tracerank inspect logs/")(reads(inspect))
app.command(epilog=f"{EXAMPLE}tracerank stats pools.jsonl -k 16")(reads(stats))
app.command(epilog=f"{EXAMPLE}tracerank convert logs/*.jsonl -o pools.jsonl.gz")(reads(convert))
app.command(epilog=f"{EXAMPLE}tracerank fit labelled.jsonl -o checkpoints/mine")(reads(fit))
app.command(epilog="Example: tracerank train webqa pools.jsonl -o checkpoints/webqa")(reads(train))
app.command(epilog=f"{EXAMPLE}tracerank calibrate labelled.jsonl --checkpoint checkpoints/mine")(reads(calibrate))
app.command(epilog=f"{EXAMPLE}tracerank budget labelled.jsonl --orders 5")(reads(budget))
app.command(epilog=f"{EXAMPLE}tracerank report runs/evaluation --format md -o runs/report")(report)
app.command(epilog=f"{EXAMPLE}tracerank ablate pools.jsonl -o runs/ablation --seeds 3")(reads(ablate))
app.command(epilog=f"{EXAMPLE}tracerank cost pools.jsonl --checkpoint checkpoints/webqa")(reads(cost))
app.command(epilog=f"{EXAMPLE}tracerank view pools.jsonl --checkpoint checkpoints/webqa -o report.html")(reads(view))
app.command(epilog=f"{EXAMPLE}tracerank serve --checkpoint checkpoints/webqa --port 8100")(serve)
app.command(epilog=f"{EXAMPLE}tracerank mcp --checkpoint checkpoints/webqa")(mcp)
app.command(epilog=f"{EXAMPLE}tracerank rollout questions.jsonl --corpus index/ --policy lexical:base -o pools.jsonl")(
    rollout
)
app.command(epilog=f"{EXAMPLE}tracerank world -o pools.jsonl --setting webqa --questions 1000")(world)
app.command(epilog="Example: tracerank embed pools.jsonl --encoder default")(reads(embed))
app.command(epilog="Example: tracerank demo")(demo)
app.add_typer(export, name="export")
app.add_typer(cache, name="cache")
app.add_typer(corpus, name="corpus")
