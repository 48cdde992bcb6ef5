"""``docs/cli.md``, written from the command line itself: ``python -m tracerank.cli.docs docs/cli.md``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracerank.cli.app import COMMANDS, command

HEADER = """# Command line

Written by `make docs` from the commands' own help; a test checks that it is up to date. Every command ends with 0 when
it is done, with 2 when its input or arguments cannot be used (one line on stderr says why), with 3 when it is done but
some rollouts or questions failed, and with 130 when it was interrupted. Results go to stdout or to the file named;
progress, problems and summaries go to stderr.
"""


def reference() -> str:
    """The reference as Markdown."""
    made = {name: command(name) for name in COMMANDS}
    return "\n".join([HEADER, *(_section(name, one) for name, one in _commands(made))])


def _commands(commands: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its full name, those of groups too."""
    for name, one in commands.items():
        if hasattr(one, "commands"):
            yield from _commands(one.commands, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", one


def _section(name: str, command: Any) -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option" and param.name != "help"]
    needed = [f"{param.opts[0]} {_value(param)}" for param in options if param.required]
    usage = " ".join(["tracerank", name, *map(_argument, arguments), *needed, "[options]"])
    lines = [f"## tracerank {name}", "", *_paragraphs(command.help), "```text", usage, "```", ""]
    lines += [f"- `{_argument(param)}`: {param.help}" for param in arguments]
    lines += [f"- `{_option(param)}`: {param.help}{_default(param)}" for param in options]
    lines += ["", "Example:", "", "```sh", (command.epilog or "").removeprefix("Example:").strip(), "```", ""]
    return "\n".join(lines)


def _paragraphs(text: str | None) -> list[str]:
    return [line for part in (text or "").split("\n\n") for line in (" ".join(part.split()), "")]


def _argument(param: Any) -> str:
    return _value(param) + ("…" if param.nargs == -1 else "")


def _option(param: Any) -> str:
    return ", ".join(param.opts) + ("" if param.is_flag else f" {_value(param)}")


def _value(param: Any) -> str:
    return param.metavar or str(param.name).upper()


def _default(param: Any) -> str:
    if param.required:
        return " Required."
    return "" if param.is_flag or param.default is None else f" Default: `{param.default}`."


if __name__ == "__main__":
    [target] = sys.argv[1:]
    Path(target).write_text(reference(), encoding="utf-8")
