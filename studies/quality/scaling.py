"""How many questions the paper's network needs: ``python -m studies.quality.scaling CACHE`` measures what is missing.

WebQA world, hashed words for vectors: the cosine of an answer and a passage tells whether one stands in the other, so
the signal that the network must find is there (``--signal`` measures it). Every row is trained on the first questions
of one seed at K=16 and judged on other questions, cut to the first 4 and 16 rollouts, beside the vote. A finished cell
is kept in the cache, an unfinished one of the paper's network goes on; ``--write`` puts the table into
docs/paper-tables.md.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies import ROOT
from tracerank.embedding.load import load_embedder
from tracerank.evaluation.bootstrap import intervals
from tracerank.fitting.presets import MARKS, TrainingSource, prepare_training
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA
from tracerank.runs.atomic import write_json, write_text
from tracerank.trace.graphs.schema import CONTROLS, RECIPES
from tracerank.trace.net import NetConfig
from tracerank.trace.selector import TraceSelector
from tracerank.trace.settings import SETTINGS
from tracerank.trace.training.beginning import AS_PUBLISHED, Beginning
from tracerank.trace.training.examples import ExampleSet, prepare_examples
from tracerank.trace.training.fit import train
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.selector import load_selector
from tracerank.votes.voting import MajorityVote

ENCODER = "hash-256"
WORLD = PAPER[WEBQA]
TRAINING_SEED, JUDGED_SEED = 100, 600
JUDGED = 1000
BUDGETS = (4, 16)
SIZES = (300, 1_000, 3_000, 10_000, 30_000)
DOCUMENT = ROOT / "docs" / "paper-tables.md"
HEADING = "## Ours, how many questions the network needs\n"

Right = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One way to train, at several sizes."""

    about: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the paper's plan that differ."""
    beginning: Beginning = AS_PUBLISHED
    control: str | None = None
    """Name of a recipe without some links."""
    over_marks: bool = False
    """The preset ``marks`` instead of the paper's network."""
    sizes: tuple[int, ...] = SIZES


NO_CROSS = "no cross-rollout"
SMALL_STEPS: Mapping[str, Any] = MappingProxyType({"batch_pools": 16})
"""The paper's run has about 1,200 steps; with its 256 pools a step, 10,000 questions here give 66."""
ROWS: Mapping[str, Row] = MappingProxyType(
    {
        "marks": Row("`marks`", over_marks=True),
        "paper": Row("`paper`"),
        "paper-no-cross": Row("`paper` without cross-rollout links", control=NO_CROSS, sizes=SIZES[3:]),
        "steps": Row("`paper`, 16 pools a step", SMALL_STEPS),
        "no-cross": Row("… without cross-rollout links", SMALL_STEPS, control=NO_CROSS, sizes=SIZES[3:]),
        "identity": Row("… `--identity`", SMALL_STEPS, Beginning(identity=True, shared=True)),
        "shared": Row("… `--shared`", SMALL_STEPS, Beginning(shared=True)),
    }
)
AGAINST = {"paper-no-cross": "paper", "no-cross": "steps"}
"""Rows that are also compared with another of the same size."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One row at one size, trained and judged."""

    right: Mapping[int, Right]
    """By K, of each judged question."""
    mixed: int
    """Pools that it learned from."""
    seconds: float
    """Of processor time for training."""
    training: Mapping[str, Any]


class Scaling:
    """The cells of the study, in a folder."""

    def __init__(self, cache: Path, judged: int = JUDGED) -> None:
        self.cache, self.judged = cache, judged
        self.embedder = load_embedder(ENCODER)

    @cached_property
    def cuts(self) -> Mapping[int, list[Pool]]:
        pools = list(iter_world(WORLD, self.judged, JUDGED_SEED))
        return {k: [pool.first(k) for pool in pools] for k in BUDGETS}

    @cached_property
    def vote(self) -> Mapping[int, Right]:
        return self._judge(MajorityVote())

    def cell(self, name: str, size: int) -> Cell | None:
        """The cell if it was measured."""
        path = self._path(name, size)
        if not path.exists():
            return None
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Cell({int(k): np.array(right) for k, right in kept.pop("right").items()}, **kept)

    def measure(self, name: str, size: int) -> Cell:
        """The cell, trained and judged unless that was done."""
        found = self.cell(name, size)
        if found is not None:
            return found
        row = ROWS[name]
        method, mixed, seconds, training = (self._marks if row.over_marks else self._trace)(name, row, size)
        right = {str(k): outcomes.tolist() for k, outcomes in self._judge(method).items()}
        path = self._path(name, size)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"right": right, "mixed": mixed, "seconds": seconds, "training": training})
        return self.measure(name, size)

    def _path(self, name: str, size: int) -> Path:
        return self.cache / "cells" / f"{name}-{size}.json"

    def _judge(self, method: Method) -> dict[int, Right]:
        return {
            k: np.array([_is_right(*settled) for settled in decide_stream(method, pools)])
            for k, pools in self.cuts.items()
        }

    def _trace(self, name: str, row: Row, size: int) -> tuple[Method, int, float, Mapping[str, Any]]:
        recipe = RECIPES[WEBQA] if row.control is None else CONTROLS[WEBQA][row.control]
        plan = replace(SETTINGS[WEBQA].plan, **row.plan)
        place = f"{row.control or 'full'}-{size}"
        folder = self.cache / "examples" / place
        pools = iter_world(WORLD, size, TRAINING_SEED)
        examples: ExampleSet = prepare_examples(pools, recipe, plan, self.embedder, folder, place)
        began = time.process_time()
        out = self.cache / "runs" / f"{name}-{size}"
        checkpoint = train(examples, NetConfig(examples.width), recipe, plan, out, beginning=row.beginning)
        spent = time.process_time() - began
        return TraceSelector(checkpoint, self.embedder), len(examples.train()), spent, checkpoint.training

    def _marks(self, name: str, row: Row, size: int) -> tuple[Method, int, float, Mapping[str, Any]]:
        began = time.process_time()
        out = self.cache / "runs" / f"{name}-{size}"
        pools = iter_world(WORLD, size, TRAINING_SEED)
        source = TrainingSource(WEBQA, pools, f"{size} questions of seed {TRAINING_SEED}", self.embedder)
        ready = prepare_training(MARKS, source, out)
        training = ready.run(None)
        return load_selector(out), training["examples"]["train"], time.process_time() - began, training


def _is_right(pool: Pool, decision: Decision) -> float:
    return float(choice(pool, decision.sample_id).correct or 0.0)


def gain(one: Right, other: Right) -> str:
    """Points between two methods on the same questions, with the 95% interval of a paired bootstrap."""
    found = 100 * (one - other)
    bounds = intervals(found[:, None])
    return f"{found.mean():+.1f} [{bounds.low[0]:+.1f}, {bounds.high[0]:+.1f}]"


def lines(study: Scaling, names: Iterable[str], sizes: Sequence[int]) -> Iterator[str]:
    """The table of what was measured."""
    yield "| trained on questions | " + " | ".join(f"{size:,}" for size in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    for k in BUDGETS:
        yield f"| **K={k}**: vote {100 * study.vote[k].mean():.1f} %{' |' * (len(sizes) + 1)}"
        for name in names:
            cells = {size: study.cell(name, size) for size in sizes}
            if any(cells.values()):
                shown = ("" if cell is None else gain(cell.right[k], study.vote[k]) for cell in cells.values())
                yield f"| {ROWS[name].about} | " + " | ".join(shown) + " |"
        for name, other in AGAINST.items():
            pairs = {size: (study.cell(name, size), study.cell(other, size)) for size in sizes}
            if any(one is not None and two is not None for one, two in pairs.values()):
                yield (
                    f"| {ROWS[other].about}: what cross-rollout links add | "
                    + " | ".join(_between(k, *p) for p in pairs.values())
                    + " |"
                )


def _between(k: int, one: Cell | None, other: Cell | None) -> str:
    return "" if one is None or other is None else gain(other.right[k], one.right[k])


def signal(questions: int = 150) -> float:
    """How well the cosine of an answer and a passage tells that the answer stands in it: area under the curve."""
    embedder = load_embedder(ENCODER)
    cosines, holds = [], []
    for pool in iter_world(WORLD, questions, TRAINING_SEED):
        for rollout in pool.rollouts:
            texts = [seen.text for search in rollout.searches for seen in search.evidence]
            if rollout.answer and texts:
                vectors = embedder.embed([rollout.answer, *texts])
                cosines.append(vectors[1:] @ vectors[0])
                holds += [rollout.answer.lower() in text.lower() for text in texts]
    held = np.array(holds)
    ranks = np.concatenate(cosines).argsort().argsort()[held]
    return float((ranks.mean() - (held.sum() - 1) / 2) / (~held).sum())


def with_section(document: str, table: Iterable[str]) -> str:
    """The document with this table in place of the one below the heading; its other words stay."""
    before, heading, after = document.partition(HEADING)
    if not heading:
        raise SystemExit(f"{DOCUMENT}: no heading {HEADING.strip()!r}")
    own, mark, others = after.partition("\n## ")
    rows = own.split("\n")
    is_table = [row.startswith("|") for row in rows]
    first = is_table.index(True)
    end = first + [*is_table[first:], False].index(False)
    return before + heading + "\n".join([*rows[:first], *table, *rows[end:]]) + mark + others


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.scaling", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for examples, runs and finished cells")
    parser.add_argument("--rows", default=",".join(ROWS), help="of which to measure what is missing")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="training questions")
    parser.add_argument("--signal", action="store_true", help="only measure how well the cosine tells")
    parser.add_argument("--write", action="store_true", help="put the table of what is there into the document")
    chosen = parser.parse_args(arguments)
    study = Scaling(chosen.cache)
    sizes = tuple(map(int, chosen.sizes.split(",")))
    if chosen.signal:
        print(f"{ENCODER}: AUC {signal():.3f}")
        return
    if chosen.write:
        write_text(DOCUMENT, with_section(DOCUMENT.read_text(encoding="utf-8"), lines(study, ROWS, sizes)))
        return
    for size in sizes:
        for name in chosen.rows.split(","):
            if size in ROWS[name].sizes:
                cell = study.measure(name, size)
                shown = "  ".join(f"K={k} {gain(cell.right[k], study.vote[k])}" for k in BUDGETS)
                print(f"{size:6,} {name:9s} {shown}  {cell.mixed:,} mixed  {cell.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
