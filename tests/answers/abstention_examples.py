"""Examples of abstentions and near misses with their questions, from the text files beside this one."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Example:
    """An answer that was given to a question, and whether it only says that there is none."""

    question: str
    answer: str
    abstains: bool


def read_examples(name: str) -> list[Example]:
    """The examples of ``abstentions_NAME.txt``: "? question", "- abstention", "+ answer"."""
    examples: list[Example] = []
    question = ""
    for line in Path(__file__).with_name(f"abstentions_{name}.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "?":
            question = text
        elif mark in ("-", "+"):
            examples.append(Example(question, text.replace("\\n", "\n"), mark == "-"))
    return examples
