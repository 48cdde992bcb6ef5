"""``tracerank lab sft``: successful rollouts as data to train a chat model on."""

from dataclasses import asdict
from pathlib import Path

import click

from tracerank.cli.inputs import Inputs, check_lines, check_output
from tracerank.cli.options import (
    COUNT,
    choice,
    example,
    force_option,
    inputs_options,
    json_option,
    method_option,
    option,
    output_option,
)
from tracerank.cli.terminal import note, print_json

CORRECT, SELECTED = "correct", "selected"


@click.command(epilog=example("tracerank lab sft pools.jsonl -o train.jsonl --per-question 2"))
@output_option("File to write; gzip if it ends with .gz.", required=True)
@choice(
    "--keep",
    (CORRECT, SELECTED),
    "Which rollouts: with label 1, or what --method selects and those with the same answer.",
    default=CORRECT,
)
@method_option()
@option(
    "--per-question N",
    "Most conversations of a question: first those without failed calls, then with the fewest searches.",
    COUNT,
    default=1,
)
@choice(
    "--style",
    ("tools", "tags"),
    "How conversations that the log does not keep are rebuilt: function calls or tags.",
    default="tools",
)
@inputs_options()
@force_option
@json_option
def sft(
    output: Path, keep: str, method: str, per_question: int, style: str, inputs: Inputs, force: bool, as_json: bool
) -> None:
    """Write successful rollouts as conversations to train a chat model on.

    One JSON object a line: messages, tools if any are called, question_id, sample_id and why the rollout was kept.
    Conversations in the log are written verbatim.
    """
    from tracerank.lab.sft import correct_examples, selected_examples, write_examples
    from tracerank.methods import load_method

    check_output(output, inputs.files, force)
    check_lines(output)
    with inputs.opened("exporting", (output,)) as (pools, _, _):
        if keep == CORRECT:
            made = correct_examples(pools, style, per_question)
        else:
            made = selected_examples(pools, load_method(method), style, per_question)
        tally = write_examples(output, made)
    if as_json:
        print_json(asdict(tally), indent=2)
    elif not inputs.quiet:
        lost = f"; {tally.lost:,} rollouts whose conversation cannot be rebuilt" if tally.lost else ""
        note(
            f"{tally.conversations:,} conversations of {tally.questions - tally.without:,} questions, "
            f"{tally.rebuilt:,} of them rebuilt; {tally.without:,} questions without one{lost}; written to {output}"
        )
