"""``docs/reference/cli.md``, written from the commands themselves by ``make docs``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tracerank.cli.app import app

HEADER = """# Command line

Written by `make docs` from the commands' own help; a test checks that it is up to date. Every command exits with 0 when
it is done, with 2 when its input or arguments cannot be used (one line on stderr says why), with 3 when it is done but
some rollouts or questions failed, and with 130 when it was interrupted. Results go to stdout or to the file named;
progress, problems and summaries go to stderr.

`FILE` is a file, folder or pattern of rollouts: JSON Lines, JSON, gzip, Parquet, SQLite, `.eval`.
"""


def reference() -> str:
    """The reference as Markdown."""
    context = click.Context(app, info_name="tracerank")
    return "\n".join([HEADER, *(_section(name, one) for name, one in _commands(app, context, ""))])


def _commands(group: click.Group, context: click.Context, prefix: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        if isinstance(one, click.Group):
            yield from _commands(one, context, f"{prefix}{name} ")
        elif one is not None:
            yield f"{prefix}{name}", one


def _section(name: str, command: click.Command) -> str:
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    options = [one for one in command.params if isinstance(one, click.Option)]
    required = [f"{one.opts[0]} {_value(one)}" for one in options if one.required]
    usage = " ".join(["tracerank", name, *map(_value, arguments), *required, "[options]"])
    lines = [f"## tracerank {name}", "", *_paragraphs(command.help or ""), "```text", usage, "```", ""]
    lines += [f"- `{_names(one)}`: {one.help}{_default(one)}" for one in options]
    lines += ["", "Example:", "", "```sh", (command.epilog or "").removeprefix("Example: "), "```", ""]
    return "\n".join(lines)


def _paragraphs(text: str) -> list[str]:
    return [line for part in text.split("\n\n") for line in (" ".join(part.split()), "")]


def _names(option: click.Option) -> str:
    return ", ".join(option.opts) + ("" if option.is_flag else f" {_value(option)}")


def _value(parameter: click.Parameter) -> str:
    if parameter.metavar is None and isinstance(parameter.type, click.Choice):
        return "|".join(map(str, parameter.type.choices))
    return parameter.metavar or str(parameter.name).upper()


def _default(option: click.Option) -> str:
    if option.required:
        return " Required."
    if isinstance(option.show_default, str):
        return f" Default: `{option.show_default}`."
    has_default = not option.is_flag and isinstance(option.default, str | int | float)
    return f" Default: `{option.default}`." if has_default else ""


if __name__ == "__main__":
    [target] = sys.argv[1:]
    Path(target).write_text(reference(), encoding="utf-8")
