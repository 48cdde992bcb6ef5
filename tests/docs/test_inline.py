"""Commands that a text names in passing exist, with their options, although nobody runs them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from tests.docs.blocks import PAGES, ROOT
from tracerank.cli.app import app

_SPAN = re.compile(r"`(tracerank [a-z][^`]*)`")


def spans(page: str) -> list[str]:
    """Code inside sentences and tables that begins with the command."""
    text = re.sub(r"(?ms)^ *(```|~~~).*?^ *\1", "", (ROOT / page).read_text(encoding="utf-8"))
    return [" ".join(span.split()) for span in _SPAN.findall(text)]


def faults(span: str) -> Iterator[str]:
    """What the command line does not know of it."""
    command: Any = typer.main.get_command(app)
    words = span.split()[1:]
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        command = command.get_command(None, name)
        if command is None:
            yield f"{span}: no command {name}"
            return
    known = {option for param in command.params for option in param.opts} | {"--help", "--version"}
    for word in words:
        option = word.partition("=")[0]
        if re.match(r"--?[a-z]", option) and option not in known:
            yield f"{span}: no option {option}"


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_text_names_exists(page: str) -> None:
    assert [fault for span in spans(page) for fault in faults(span)] == []


def test_unknown_commands_and_options_are_found() -> None:
    assert list(faults("tracerank corpus build FILE -o index/")) == []
    assert list(faults("tracerank guess FILE")) == ["tracerank guess FILE: no command guess"]
    assert list(faults("tracerank select FILE --guess")) == ["tracerank select FILE --guess: no option --guess"]
