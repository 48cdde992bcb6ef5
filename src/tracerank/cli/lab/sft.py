"""``tracerank lab sft``: successful rollouts as data to train a chat model on."""

from dataclasses import asdict
from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs, check_lines, check_output
from tracerank.cli.terminal import note, print_json

CORRECT, SELECTED = "correct", "selected"


@click.command(epilog=opt.example("tracerank lab sft pools.jsonl -o train.jsonl --per-question 2"))
@opt.output_option("File to write; gzip if it ends with .gz.", required=True)
@opt.choice(
    "--keep",
    (CORRECT, SELECTED),
    "Which rollouts: with label 1, or what --method selects and those with the same answer.",
    default=CORRECT,
)
@opt.method_option()
@opt.option("--per-question N", "Most conversations of a question, the shortest first.", opt.COUNT, default=1)
@opt.choice(
    "--style",
    ("tools", "tags"),
    "How conversations that the log does not keep are rebuilt: function calls or tags.",
    default="tools",
)
@opt.inputs_options()
@opt.force_option
@opt.json_option
def sft(
    output: Path, keep: str, method: str, per_question: int, style: str, inputs: Inputs, force: bool, as_json: bool
) -> None:
    """Write successful rollouts as conversations to train a chat model on.

    One JSON object a line: messages, tools if any are called, question_id, sample_id and why the rollout was kept.
    Conversations in the log are written verbatim.
    """
    from tracerank.lab.sft import chosen_rollouts, write_examples
    from tracerank.methods import load_method

    check_output(output, inputs.files, force)
    check_lines(output)
    with inputs.opened("exporting", (output,)) as (pools, _, _):
        chosen = chosen_rollouts(pools, None if keep == CORRECT else load_method(method))
        tally = write_examples(output, chosen, style, per_question)
    if as_json:
        print_json(asdict(tally), indent=2)
    elif not inputs.quiet:
        lost = f"; {tally.lost:,} rollouts whose conversation cannot be rebuilt" if tally.lost else ""
        note(
            f"{tally.conversations:,} conversations of {tally.questions - tally.without:,} questions, "
            f"{tally.rebuilt:,} of them rebuilt; {tally.without:,} questions without one{lost}; written to {output}"
        )
