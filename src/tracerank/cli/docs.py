"""``docs/reference/cli.md``, written from the commands themselves by ``make docs``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tracerank.cli.app import app

WIDTH = 100
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
    """The reference as Markdown."""
    settings = {**app.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(app, info_name=app.name, **settings)
    sections = (f"## {one.command_path}\n\n```text\n{one.get_help()}\n```\n" for one in commands(app, context))
    return "\n".join([HEADER, *sections])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
