"""The command line put together: which commands there are, and how an error ends one."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click
from click.exceptions import Exit, NoArgsIsHelpError

from tracerank.cli.terminal import note
from tracerank.errors import TraceRankError, UsageError, did_you_mean
from tracerank.extras import missing_library
from tracerank.runs.resumable import RunComplete

UNUSABLE = 2
"""Exit code for input or arguments that cannot be used, the same that click gives for a wrong option."""
INTERRUPTED = 130

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "Decide real questions by the majority vote and by the shipped selector.",
        "inspect": "Show what files hold: format, counts, dropped rollouts with examples, warnings.",
        "select": "Choose the best existing answer of every question.",
        "view": "Write one page that shows rollouts side by side and why the winner was chosen.",
        "evaluate": "Compare methods on labelled pools, for several numbers of rollouts.",
        "report": "Turn the records of evaluations into tables, charts and a page.",
        "fit": "Find the best selector for your labelled pools, and save it.",
        "train": "Train the paper's network on labelled pools.",
        "serve": "Serve selection over HTTP.",
        "mcp": "Serve selection over the Model Context Protocol, on stdin and stdout.",
        "convert": "Convert rollouts of any known format to the canonical one or to ATIF.",
        "cache": "Show, check and shrink the vectors kept on disk.",
        "lab": "Commands for experiments: generated worlds, agents, corpora, ablations.",
    }
)
"""By name the first paragraph of the help, which is known before the module is imported; a test compares."""
LAB: Mapping[str, str] = MappingProxyType(
    {
        "ablate": "Train the paper's ablations and compare them on held-out pools.",
        "stats": "Count what the rollouts of a question share.",
        "cost": "Measure what selection costs on this machine, by stage.",
        "embed": "Encode every text of the pools into the cache.",
        "world": "Generate pools from a world of invented facts with a known truth.",
        "corpus": "Index the documents that agents search.",
        "rollout": "Sample K rollouts of every question and write them as pools.",
        "sft": "Write successful rollouts as conversations to train a chat model on.",
    }
)
REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "budget": "tracerank evaluate --stopping",
        "calibrate": "tracerank fit --only confidence",
        "gaps": "tracerank select --gaps",
        "export": "tracerank lab sft, or convert --to atif",
        **{name: f"tracerank lab {name}" for name in LAB},
        "--checkpoint": "--method FOLDER",
        "--methods": "--method NAME|FOLDER,…",
        "--jobs": "--workers",
        "--policy": "--chat URL#MODEL",
        "--format": "--json, or -o FOLDER, which also holds Markdown and CSV",
        "--label": "-o NAME: a report calls runs by their folders",
        "--count-abstentions": "--method majority-paper",
    }
)
"""Commands and options of earlier versions, and what to write instead."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called: listing them imports none."""

    def __init__(self, entries: Mapping[str, str], package: str, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._entries, self._package = entries, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._entries:
            module = import_module(f"{self._package}.{'serve' if cmd_name == 'mcp' else cmd_name}")
            command: click.Command = getattr(module, cmd_name)
            return command
        if cmd_name in REMOVED:
            raise UsageError(f"{cmd_name}: now {REMOVED[cmd_name]}")
        if near := did_you_mean(cmd_name, self._entries):
            raise UsageError(f"no such command {cmd_name!r}{near}")
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._entries.items()))


class Program(LazyGroup):
    """All commands; what goes wrong in one ends in a line, not in a traceback."""

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        with _one_line():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_line():
            result = super().invoke(ctx)
            sys.stdout.flush()  # a pipe closed by its reader is noticed here rather than at exit
            return result


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except RunComplete as complete:
        note(f"{complete}; nothing is left to do")
    except KeyboardInterrupt:
        note("interrupted")
        raise Exit(INTERRUPTED) from None
    except Exception as error:
        if (line := _line(error)) is None:
            raise
        note(f"error: {line}")
        raise Exit(UNUSABLE) from None


def _line(error: Exception) -> str | None:
    """What the user should read of an error; None: click shows help, or it is a fault of ours."""
    if isinstance(error, TraceRankError):
        return str(error)
    if isinstance(error, click.NoSuchOption):
        if error.option_name in REMOVED:
            return f"{error.option_name}: now {REMOVED[error.option_name]}"
        near = did_you_mean(error.option_name, error.possibilities or ())
        return f"no such option {error.option_name!r}{near or _where(error)}"
    if isinstance(error, click.UsageError) and not isinstance(error, NoArgsIsHelpError):
        message = error.format_message().rstrip(".")
        return f"{message[:1].lower()}{message[1:]}{_where(error)}"
    if isinstance(error, ImportError):
        return missing_library(error)
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        return f"{error.filename or 'the output'}: {error.strerror or error}"
    return None


def _where(error: click.UsageError) -> str:
    return "" if error.ctx is None else f"; see {error.ctx.command_path} --help"


app = Program(
    COMMANDS,
    "tracerank.cli",
    name="tracerank",
    help="Choose the best existing answer among K completed search-agent rollouts.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
click.version_option(
    package_name="tracerank", prog_name="tracerank", message="%(prog)s %(version)s", help="Show the version and stop."
)(app)
