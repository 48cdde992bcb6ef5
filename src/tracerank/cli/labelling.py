"""``--labels``: from a word to the rule that labels pools, and the lines that say which rule it was."""

from typing import Annotated

import typer

from tracerank.cli.terminal import harmless, note
from tracerank.errors import UsageError
from tracerank.evaluation.agreement import ExactBesideMeaning
from tracerank.evaluation.labels import JUDGE, RULES, Labelling
from tracerank.selectors.table import MethodOptions

_ABOUT = (
    "given (labels of the file), meaning (the answer means what a reference says), em (exact match), contains (a "
    "reference stands in the answer), f1 (token F1, a share), paper (given, else em), judge:URL#MODEL (a chat model "
    "grades what is no exact match)"
)
Labels = Annotated[
    str, typer.Option("--labels", metavar="RULE", help=f"What is right: {_ABOUT}, or auto: given, else meaning.")
]


def labelling_named(text: str, options: MethodOptions | None = None, *, watches_exact: bool = False) -> Labelling:
    """The labelling by a rule; ``judge`` alone asks the command's own chat model, ``options`` say what it holds.

    ``watches_exact`` also looks whether exact match would mislead, which takes a second or less.
    """
    rule, _, address = text.strip().partition(":")
    if rule not in RULES or (address and rule != JUDGE):
        known = ", ".join((*(name for name in RULES if name != JUDGE), f"{JUDGE}:URL#MODEL"))
        raise UsageError(f"--labels {text!r}: known are {known}")
    beside = ExactBesideMeaning() if watches_exact else None
    if rule != JUDGE:
        return Labelling(rule, beside=beside)
    said = options or MethodOptions()
    if not (address or said.chat):
        raise UsageError("--labels judge needs a chat server and its model's name: --labels judge:URL#MODEL")
    from tracerank.evaluation.judging import judge_at

    judge = judge_at(address or said.chat or "", said.chat_context, said.chat_tokens, said.chat_time)
    return Labelling(rule, judge, beside)


def print_labels(labelling: Labelling) -> None:
    """Which rule labelled, below the table: figures without it mislead."""
    typer.echo(f" {harmless(labelling.sentence)}\n")


def warn_of_labels(labelling: Labelling) -> None:
    """On stderr, that exact match misleads, where it does."""
    if warning := labelling.warning():
        note(f"warning: {warning}")


def say_judge(labelling: Labelling) -> None:
    """On stderr, what the judge said and how far our rule agrees."""
    if labelling.judge is not None:
        note(labelling.judge.sentence)
