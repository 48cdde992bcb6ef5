"""``tracerank train``: the paper's network from labelled pools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs, fingerprint
from tracerank.cli.labels import labelling_named, note_judge, without_held_out
from tracerank.cli.terminal import note, print_json, working
from tracerank.errors import UsageError
from tracerank.pools.types import BROWSING, WEBQA

encoder_option = opt.option("--encoder NAME", f"Of all texts: {opt.ENCODERS}.", default="default")
plan_options = opt.together(
    opt.option("-k K", "Rollouts per question.", click.IntRange(2)),
    opt.option("--epochs N", "Times that every question is seen.", opt.COUNT),
    opt.option("--batch batch_pools N", "Questions per step.", opt.COUNT),
    opt.option("--learning-rate R", "Learning rate of AdamW.", opt.SECONDS),
)
"""What changes a plan of training; without them it is the paper's."""


@click.command(epilog=opt.example("tracerank train labelled.jsonl -o runs/network"))
@opt.output_option(
    "Where the network goes. Interrupted runs resume.", opt.FOLDER, "training", "fitted-on.bin", required=True
)
@opt.choice("--setting", (WEBQA, BROWSING), "The search setting, recognised from the pools by default.")
@opt.choice("--preset", ("paper", "small"), "The network's width and its training.", default="paper")
@encoder_option
@opt.dims_option
@plan_options
@opt.seed_option("Seed of weights, order and dropout.", default=None)
@opt.option("--device NAME", "Where it is trained: cpu, cuda or cuda:N.", default="cpu")
@opt.labels_option("paper")
@opt.split_option
@opt.inputs_options(k=False)
@opt.json_option
def train(
    output: Path,
    setting: str | None,
    preset: str,
    encoder: str,
    dims: int | None,
    device: str,
    labels: str,
    split: str | None,
    inputs: Inputs,
    as_json: bool,
    **plan: Any,
) -> None:
    """Train the paper's network on labelled pools.

    Pools with only right or only wrong answers are left out. 5% of the questions are held out to choose the best epoch,
    and the vote, the shipped selector and the network are compared on them at the end. Training ends early when the
    network stays below the vote. With --encoder hash-256, fewer than 5,000 pools start from the network that ships,
    which is better than random weights. Use the result with --method FOLDER.
    """
    first = inputs.files[0]
    if str(first) in (WEBQA, BROWSING) and not first.exists():
        raise UsageError(f"train {first}: now train --setting {first}")
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.folder import write_network_card
    from tracerank.fitting.held_out import compare_held_out
    from tracerank.fitting.train import guess_setting, prepare_training

    labelling = labelling_named(labels)
    with inputs.opened("preparing") as (stream, _, _):
        found, pools = guess_setting(without_held_out(stream, split))
        setting = setting or found
        if setting != found:
            note(f"warning: the pools are of the setting {found}; a network of {setting} learns little from them")
        made_from = json.dumps(fingerprint(inputs.files)) + ("" if split is None else f", without --split {split}")
        embedder = load_embedder(encoder, dims)
        ready = prepare_training(
            preset, setting, pools, output, embedder, files=made_from, labels=labelling, device=device, **plan
        )
    if not inputs.quiet:
        for line in filter(None, (ready.about, ready.labelling, ready.caution)):
            note(line)
        note_judge(labelling)
    with working("training", unit="steps", total=ready.steps, quiet=inputs.quiet) as progress:

        def on_epoch(figures: Mapping[str, float]) -> None:
            line = f"network {100 * figures['accuracy']:.1f}%, vote {100 * figures['vote']:.1f}% of the held-out pools"
            progress.describe(f"training ({line})")
            if not inputs.quiet:
                note(f"after an epoch: {line}")

        summary = ready.run(lambda loss: progress.advance(), on_epoch)
    with working("comparing", quiet=inputs.quiet) as progress:
        again = progress.over(without_held_out(inputs.pools(lambda problem: None), split))
        compared = compare_held_out(output, embedder, again, ready.k, labelling_named(labels))
    lines = (ready.about, ready.labelling, ready.outcome(summary), compared.sentence, compared.warning)
    write_network_card(output, f"TRACE network ({preset}, {setting})", [line for line in lines if line])
    if as_json:
        about = {"folder": str(output), "preset": preset, "setting": setting, "labels": labelling.name}
        print_json({**about, "training": summary, "held_out": compared.record()}, indent=2)
    if not inputs.quiet:
        note(f"{output}: {ready.outcome(summary)}")
        if compared.sentence is not None:
            note(compared.sentence)
        if compared.warning is not None:
            note(f"warning: {compared.warning}")
