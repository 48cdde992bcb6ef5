"""The prompts of the methods: our own words, kept as text files beside the code."""

from functools import cache
from importlib.resources import files


@cache
def prompt_text(name: str) -> str:
    """The prompt of that name, with braces where ``str.format`` is to put what differs."""
    return files("tracerank.methods").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").strip()
