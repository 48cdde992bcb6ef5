"""What a trained selector gains on the generated world: ``python -m studies.quality.world_selectors FOLDER PART…``.

Parts: ``growth`` (WebQA, training questions from 300 to 10,000, hashed words), ``encoder`` (the same with the default
encoder, as far as half an hour of encoding goes) and ``browsing`` (all rows of the ablation tables at one size). Each
part goes on where it was interrupted. The world's parameters were fixed before any selector was trained on it; the
settings below were chosen on questions of seed 200, which are neither trained nor tested on here.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tracerank.embedding.load import load_embedder
from tracerank.fitting.ablation import FULL, Ablation, AblationRow, AblationSetup, ablation_row, variants_named
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.trace.settings import SETTINGS

TRAINING_SEED, TEST_SEED = 100, 300
TESTED = 1500
MECHANISM = "full,no-cross-rollout,no-gnn"

NET: Mapping[str, Any] = {"hidden": 64, "feed_forward": 256, "dropout": 0.5}
PLAN: Mapping[str, Any] = {"epochs": 2, "learning_rate": 1e-3, "weight_decay": 1.0, "vote_rate": 100.0}
"""Narrow, with much dropout and decay, and quick to learn the vote: else names are learned by heart (LOG.md)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One experiment: a setting, its sizes and what is compared."""

    setting: str
    encoder: str
    sizes: tuple[int, ...]
    """Generated questions; those whose pools are not mixed are left out of training."""
    variants: str | None
    """None: every row of the ablation tables."""
    seeds: int
    tested: int = TESTED
    batch_pools: int = 16


PARTS: Mapping[str, Part] = {
    "growth": Part("webqa", "hash-256", (300, 1_000, 3_000, 10_000), MECHANISM, seeds=2),
    "encoder": Part("webqa", "default", (300, 1_000), MECHANISM, seeds=2, tested=500),
    "browsing": Part("browsing", "hash-256", (1_000,), None, seeds=1, tested=500, batch_pools=8),
}


def ablation_of(part: Part, size: int, folder: Path) -> Ablation:
    """The folder of one size, with its pools."""
    plan = replace(SETTINGS[part.setting].plan, **{**PLAN, "batch_pools": part.batch_pools})
    source = {"setting": part.setting, "questions": size, "tested": part.tested, "seeds": [TRAINING_SEED, TEST_SEED]}
    found = Ablation(folder / str(size), AblationSetup(plan, load_embedder(part.encoder), NET, source))
    preset = PAPER[part.setting]
    found.take(iter_world(preset, size, TRAINING_SEED), iter_world(preset, part.tested, TEST_SEED))
    return found


def rows_of(part: Part, size: int, folder: Path, console: Console) -> list[AblationRow]:
    """Train what is missing; accuracies with their differences to the vote."""
    ablation = ablation_of(part, size, folder)
    ablation.measure_votes()
    votes = ablation.vote_records()
    majority = [[record for record in votes if record.method == "majority"]]
    rows = [ablation_row("majority", majority)]
    for variant in variants_named(part.setting, part.variants):
        for seed in range(part.seeds):
            ablation.run(variant, seed)
        runs = [ablation.records(variant, seed) for seed in range(part.seeds)]
        rows.append(ablation_row(variant.name, runs, majority))
        if variant.name == FULL:
            full = runs
        else:
            rows.append(ablation_row(f"{variant.name}, against full", runs, full))
        console.print(f"{size:,} {variant.name}: {100 * rows[-1].accuracy:.1f}")
    return rows


def table_of(name: str, folder: Path, console: Console) -> Table:
    """One part as a table."""
    part = PARTS[name]
    table = Table(title=f"{part.setting}, {part.encoder}, {part.tested:,} tested questions, {part.seeds} seeds")
    for heading in ("questions", "", "right %", "± seeds", "difference", "± questions"):
        table.add_column(heading, justify="left" if not heading else "right")
    for size in part.sizes:
        for row in rows_of(part, size, folder / name, console):
            figures = (row.deviation, row.against, row.error)
            cells = ("" if value is None else f"{100 * value:+.1f}".removeprefix("+") for value in figures)
            table.add_row(f"{size:,}", row.name, f"{100 * row.accuracy:.1f}", *cells)
    return table


def main(folder: str, *names: str) -> None:
    """Run the named parts and print their tables."""
    console = Console(width=110)
    for name in names or ("growth",):
        console.print(table_of(name, Path(folder), console))


if __name__ == "__main__":
    main(*sys.argv[1:])
