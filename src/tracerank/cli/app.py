"""The command line put together: which commands there are, and how an error ends one."""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from tracerank.cli.terminal import installed_version, note, print_help
from tracerank.errors import TraceRankError
from tracerank.extras import missing_library

UNUSABLE = 2
"""Exit code for input or arguments that cannot be used, the same that Typer gives for a wrong option."""
INTERRUPTED = 130


def _spare_checking(parameter: Any, annotation: Any) -> None:
    """Take texts and paths as they come, and defaults as they are.

    What else is given, a number or a word of several, goes through the library with which Typer checks values, whose
    import takes as long as all of Typer.
    """
    if "process_value" in vars(parameter):
        return
    kind = _AS_GIVEN.get(get_args(annotation)[0]) if get_origin(annotation) is Annotated else None
    checked: Callable[[Any, Any], Any] = parameter.process_value

    def process(context: Any, value: Any) -> Any:
        if value is None or value == ():
            if parameter.required or parameter.multiple or parameter.nargs != 1:
                return checked(context, value)
        elif value is not parameter.default:
            if kind is None:
                return checked(context, value)
            value = kind(value)
        return value if parameter.callback is None else parameter.callback(context, parameter, value)

    parameter.process_value = process


def _paths(values: Iterable[str]) -> list[Path]:
    return [Path(value) for value in values]


_AS_GIVEN: Mapping[Any, Callable[[Any], Any]] = MappingProxyType(
    {str: str, str | None: str, Path: Path, Path | None: Path, list[Path]: _paths}
)
"""Annotations of which every text is a value."""


class Command(TyperCommand):
    """A command whose values are checked where they need it."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)
        for parameter in parameters:
            _spare_checking(parameter, getattr(self.callback, "__annotations__", {}).get(parameter.name))
        return parameters


class Commands(TyperGroup):
    """All commands; what goes wrong in one ends in a line, not in a traceback."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)
        for parameter in parameters:
            _spare_checking(parameter, None)
        return parameters

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


class Entry(NamedTuple):
    """What is known of a command before its module is imported; its function has the command's name."""

    module: str
    """In this folder."""
    summary: str
    """The first paragraph of its help; a test compares."""
    example: str = ""
    """Empty: a group, whose commands have examples of their own."""
    reads: bool = False
    """Takes ``--map`` behind its ``--reader``."""


COMMANDS: Mapping[str, Entry] = MappingProxyType(
    {
        "select": Entry(
            "select",
            "Choose the best existing answer of every question.",
            "tracerank select pools.jsonl --checkpoint checkpoints/webqa -k 16 -o out.jsonl",
            reads=True,
        ),
        "evaluate": Entry(
            "evaluate",
            "Compare ways to decide on labelled pools, for several K.",
            "tracerank evaluate pools.jsonl --checkpoint checkpoints/webqa -k 2,4,8,16",
            reads=True,
        ),
        "inspect": Entry(
            "inspect",
            "Say what files hold before anything is done with them: format, counts, drops with examples, warnings.",
            "tracerank inspect logs/",
            reads=True,
        ),
        "stats": Entry(
            "stats",
            "Count what the rollouts of a question share: groups, pairs, message edges, overlap.",
            "tracerank stats pools.jsonl -k 16",
            reads=True,
        ),
        "convert": Entry(
            "export",
            "Bring rollouts of any known format into the canonical one or into ATIF, grouped by question.",
            "tracerank convert logs/*.jsonl -o pools.jsonl.gz",
            reads=True,
        ),
        "fit": Entry(
            "fit",
            "Find the best selector for your labelled pools, and save it, whatever it is.",
            "tracerank fit labelled.jsonl -o checkpoints/mine",
            reads=True,
        ),
        "train": Entry(
            "train",
            "Train a network on pools with labels or references, with the preset's settings unless told otherwise.",
            "tracerank train webqa pools.jsonl -o checkpoints/webqa",
            reads=True,
        ),
        "calibrate": Entry(
            "calibrate",
            "Fit a selector's confidence on your labelled pools: what it chooses stays, how sure it "
            "says it is changes.",
            "tracerank calibrate labelled.jsonl --checkpoint checkpoints/mine",
            reads=True,
        ),
        "budget": Entry(
            "budget",
            "Replay labelled pools, one rollout after the other: what would each rule for stopping have cost "
            "and brought?",
            "tracerank budget labelled.jsonl --orders 5",
            reads=True,
        ),
        "gaps": Entry(
            "gaps",
            "Say what evidence would settle unsure pools: claims without support, names no rollout looked up, "
            "repeated queries.",
            "tracerank gaps pools.jsonl --below 0.6",
            reads=True,
        ),
        "report": Entry(
            "report",
            "Fold the records of evaluations into tables: accuracy, differences, budgets, coverage, pools, cost.",
            "tracerank report runs/evaluation --format md -o runs/report",
        ),
        "ablate": Entry(
            "ablate",
            "Train the full selector and every control of the paper's ablation tables, "
            "and compare them on held-out pools.",
            "tracerank ablate pools.jsonl -o runs/ablation --seeds 3",
            reads=True,
        ),
        "cost": Entry(
            "cost",
            "Measure what selecting costs on this machine: read and parse, encode afresh, build graphs, score.",
            "tracerank cost pools.jsonl --checkpoint checkpoints/webqa",
            reads=True,
        ),
        "view": Entry(
            "view",
            "Write one page that shows rollouts side by side, the evidence that they share "
            "and what spoke for the winner.",
            "tracerank view pools.jsonl --checkpoint checkpoints/webqa -o report.html",
            reads=True,
        ),
        "serve": Entry(
            "serve",
            "Answer POST /v1/select, /v1/rerank, /v1/explain and /v1/view until interrupted; "
            "what was accepted is finished.",
            "tracerank serve --checkpoint checkpoints/webqa --port 8100",
        ),
        "mcp": Entry(
            "serve",
            "Speak the Model Context Protocol over stdin and stdout: tools select_rollout and explain_selection.",
            "tracerank mcp --checkpoint checkpoints/webqa",
        ),
        "rollout": Entry(
            "rollout",
            "Sample K rollouts of every question and write them as pools.",
            "tracerank rollout questions.jsonl --corpus index/ --policy lexical:base -o pools.jsonl",
        ),
        "world": Entry(
            "world",
            "Generate a world of facts, pages and questions, let agents search it, and write their pools.",
            "tracerank world -o pools.jsonl --setting webqa --questions 1000",
        ),
        "embed": Entry(
            "cache",
            "Encode every text of the pools into the cache, from which select, train and evaluate then take it.",
            "tracerank embed pools.jsonl --encoder default",
            reads=True,
        ),
        "demo": Entry(
            "demo",
            "Settle real questions by the vote and the shipped selector, and generated ones by two networks as well.",
            "tracerank demo",
        ),
        "export": Entry("export", "Write rollouts as data for other tools."),
        "cache": Entry("cache", "Look at, check and shrink the vectors kept on disk."),
        "corpus": Entry("corpus", "Make, search and serve the documents that agents search."),
    }
)
"""In the order of the help."""


@cache
def command(name: str) -> Any:
    """The command or group, with its module imported."""
    entry = COMMANDS[name]
    made = getattr(import_module(f"tracerank.cli.{entry.module}"), name)
    if isinstance(made, typer.Typer):
        group = typer.main.get_group(made)
        group.name = name
        return group
    if entry.reads:
        from tracerank.cli.reading import reads

        made = reads(made)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    alone.command(name, cls=Command, epilog=f"Example:\n\n{entry.example}")(made)
    return typer.main.get_command(alone)


class TableOfCommands(Commands):
    """The commands of the table, imported one by one when they are called: a list of them waits for none."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command(cmd_name) if cmd_name in COMMANDS else super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        options = [(parameter.opts[0], parameter.help) for parameter in self.get_params(ctx)]
        print_help(self.get_usage(ctx), self.help or "", options, {name: one.summary for name, one in COMMANDS.items()})


app = typer.Typer(
    cls=TableOfCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
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
