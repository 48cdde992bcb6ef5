"""``docs/reference/cli.md``, written from the commands themselves by ``make docs``."""

import sys
from collections import Counter
from collections.abc import Container, Iterator
from copy import copy
from pathlib import Path

import click

from tracerank.cli.app import app

WIDTH = 100
SHARED = 3
"""Commands that have an option in the same words, for it to be described once."""
HEADER = """# Command line

Written by `make docs` from the commands' own help; a test checks that it is up to date. Every command exits with 0 when
it is done, with 2 when its input or arguments cannot be used (one line on stderr says why), with 3 when it is done but
some rollouts or questions failed, and with 130 when it was interrupted. Results go to stdout or to the file named;
progress, problems and summaries go to stderr.

`FILE` is a file, folder or pattern of rollouts: JSON Lines, JSON, gzip, Parquet, SQLite, `.eval`.
"""


def commands(group: click.Group, context: click.Context) -> Iterator[click.Context]:
    """Every command of a group and of the groups in it, as it would be called."""
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        assert one is not None
        below = click.Context(one, info_name=name, parent=context)
        if isinstance(one, click.Group):
            yield from commands(one, below)
        else:
            yield below


def reference() -> str:
    """The reference as Markdown; options that several commands have alike are described once."""
    settings = {**app.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    known = list(commands(app, click.Context(app, info_name=app.name, **settings)))
    count = Counter(record for context in known for _, record in _records(context))
    shared = {record: None for record in count if count[record] >= SHARED}
    options = click.HelpFormatter(width=WIDTH)
    options.write_dl(list(shared))
    first = f"## Options of several commands\n\n```text\n{options.getvalue()}```\n"
    return "\n".join([HEADER, first, *(_section(context, shared) for context in known)])


def _records(context: click.Context) -> Iterator[tuple[click.Parameter, tuple[str, str]]]:
    for param in context.command.get_params(context):
        record = param.get_help_record(context)
        if isinstance(param, click.Option) and record is not None:
            yield param, record


def _section(context: click.Context, shared: Container[tuple[str, str]]) -> str:
    """The help of a command, without its options of several commands, whose names stand below."""
    left_out = {param.name: param.opts[-1] for param, record in _records(context) if record in shared}
    command = copy(context.command)
    command.params = [param for param in command.params if param.name not in left_out]
    command.add_help_option = False
    also = " ".join(f"`{option}`" for option in left_out.values() if option != "--help")
    below = f"\nAlso [these](#options-of-several-commands): {also}\n" if also else ""
    return f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n{below}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
