"""The texts that a chat agent is given; they are files in ``prompts/``, in our own words."""

from functools import cache
from importlib.resources import files


@cache
def prompt(name: str) -> str:
    """The text of a file in ``prompts/``."""
    return files(__package__).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").strip()
