"""The command line put together: which commands there are, and how an error ends one."""

import sys
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from tracerank.cli.terminal import note
from tracerank.errors import TraceRankError, UsageError
from tracerank.extras import missing_library
from tracerank.runs.resumable import RunComplete

UNUSABLE = 2
"""Exit code for input or arguments that cannot be used, the same that click gives for a wrong option."""
INTERRUPTED = 130


class Entry(NamedTuple):
    """What is known of a command before its module is imported."""

    module: str
    """In this folder; its function has the command's name."""
    summary: str
    """The first paragraph of its help; a test compares."""


COMMANDS: Mapping[str, Entry] = MappingProxyType(
    {
        "demo": Entry("demo", "Decide real questions by the majority vote and by the shipped selector."),
        "inspect": Entry("inspect", "Show what files hold: format, counts, dropped rollouts with examples, warnings."),
        "select": Entry("select", "Choose the best existing answer of every question."),
        "view": Entry("view", "Write one page that shows rollouts side by side and why the winner was chosen."),
        "evaluate": Entry("evaluate", "Compare methods on labelled pools, for several numbers of rollouts."),
        "report": Entry("report", "Turn the records of evaluations into tables, charts and a page."),
        "fit": Entry("fit", "Find the best selector for your labelled pools, and save it."),
        "train": Entry("train", "Train the paper's network on labelled pools."),
        "serve": Entry("serve", "Serve selection over HTTP."),
        "mcp": Entry("serve", "Serve selection over the Model Context Protocol, on stdin and stdout."),
        "convert": Entry("convert", "Convert rollouts of any known format to the canonical one or to ATIF."),
        "cache": Entry("cache", "Show, check and shrink the vectors kept on disk."),
        "lab": Entry("lab", "Commands for experiments: generated worlds, agents, corpora, ablations."),
    }
)
"""In the order of the help."""
LAB: Mapping[str, Entry] = MappingProxyType(
    {
        "ablate": Entry("lab.ablate", "Train the paper's ablations and compare them on held-out pools."),
        "stats": Entry("lab.stats", "Count what the rollouts of a question share."),
        "cost": Entry("lab.cost", "Measure what selection costs on this machine, by stage."),
        "embed": Entry("lab.embed", "Encode every text of the pools into the cache."),
        "world": Entry("lab.world", "Generate pools from a world of invented facts with a known truth."),
        "corpus": Entry("lab.corpus", "Build, search and serve the documents that agents search."),
        "rollout": Entry("lab.rollout", "Sample K rollouts of every question and write them as pools."),
        "sft": Entry("lab.sft", "Write successful rollouts as conversations to train a chat model on."),
    }
)

REMOVED_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "budget": "evaluate --stopping",
        "calibrate": "fit --only confidence",
        "gaps": "select --gaps",
        "export": "lab sft, or convert --to atif",
        **{name: f"lab {name}" for name in LAB},
    }
)
REMOVED_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "--checkpoint": "--method FOLDER",
        "--methods": "--method NAME|FOLDER,…",
        "--jobs": "--workers",
    }
)
"""Spellings of earlier versions and what to write instead."""


class Table(click.Group):
    """A group whose commands are imported when they are called: listing them imports none."""

    def __init__(self, name: str, entries: Mapping[str, Entry], **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self._entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._entries:
            return command(self._entries[cmd_name], cmd_name)
        if cmd_name in REMOVED_COMMANDS:
            raise UsageError(f"{cmd_name}: now tracerank {REMOVED_COMMANDS[cmd_name]}")
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self._entries.items()])


def command(entry: Entry, name: str) -> click.Command:
    """The command, with its module imported."""
    found = getattr(import_module(f"tracerank.cli.{entry.module}"), name)
    assert isinstance(found, click.Command)
    return found


class Program(Table):
    """All commands; what goes wrong in one ends in a line, not in a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a pipe closed by its reader is noticed here rather than at exit
        except RunComplete as complete:
            note(f"{complete}; nothing is left to do")
            ctx.exit(0)
        except TraceRankError as error:
            note(f"error: {error}")
            ctx.exit(UNUSABLE)
        except click.NoSuchOption as error:
            if (instead := REMOVED_OPTIONS.get(error.option_name)) is None:
                raise
            note(f"error: {error.option_name}: now {instead}")
            ctx.exit(UNUSABLE)
        except KeyboardInterrupt:
            note("interrupted")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            raise  # click ends quietly: nothing reads the output any more
        except ImportError as error:
            if (line := missing_library(error)) is None:
                raise
            note(f"error: {line}")
            ctx.exit(UNUSABLE)
        except OSError as error:
            note(f"error: {error.filename or 'the output'}: {error.strerror or error}")
            ctx.exit(UNUSABLE)
        return result


def _show_version(ctx: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given:
        from importlib.metadata import version

        click.echo(f"tracerank {version('tracerank')}")
        ctx.exit()


app = Program(
    "tracerank",
    COMMANDS,
    help="Choose the best existing answer among K completed search-agent rollouts.",
    no_args_is_help=True,
    context_settings={"max_content_width": 100, "show_default": True},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Show the version and stop.",
        )
    ],
)
