"""Prompts are text files, in our own words; a folder of them is a package that gives them by name."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files


def prompts_of(package: str) -> Callable[[str], str]:
    """What gives the texts beside a package's ``__init__`` by name, without the spaces around them."""

    @cache
    def prompt(name: str) -> str:
        return files(package).joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()

    return prompt
