"""How often the rest of a budget mends a wrong answer: ``python -m studies.shipped_weights.stopping CACHE FOLDER``.

Fitted on replays of pools with many rollouts a question that may be fitted on, each state with several numbers of
rollouts to go. Walks are kept in ``CACHE``. Nothing of evaluation-only agents is looked at. What ships was fitted on
the world and on agents without a language model, which are gone, so this does not reproduce it: a refit was 0.3 points
better on two sets and 0.4 worse on a third (``studies/LOG.md``).
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import tracerank as tr
from studies.quality.ground import TTS, WORLD, pools_of
from tracerank.evidence.model import Logistic, fit_logistic
from tracerank.methods import load_selector
from tracerank.stopping.replay import Walk, walks_of
from tracerank.stopping.rules import COLUMNS, FORMAT, RECOVERY, State, columns_of
from tracerank.votes.folders import write_description

QUESTIONS, ORDERS = 250, 2
AHEAD = (1, 2, 3, 4, 6, 8, 12, 15)
"""Rollouts to go that a state is learned with."""
L2, SOURCE_WEIGHT = 10.0, 400.0


def fit_recovery(sources: Mapping[str, Sequence[Walk]]) -> tuple[Logistic, dict[str, Any]]:
    """From all states whose answer is wrong: whether it is right some rollouts later; and a summary."""
    rows: list[tuple[float, ...]] = []
    mended, weights = [], []
    for walks in sources.values():
        for walk in walks:
            for state, right in zip(walk.states[:-1], walk.right[:-1], strict=True):
                ahead = [left for left in AHEAD if state.rollouts + left <= len(walk.states)]
                if right < 0.5 and state.votes:
                    rows += [tuple(columns_of(state, left).values()) for left in ahead]
                    mended += [walk.right[state.rollouts + left - 1] for left in ahead]
                    weights += [SOURCE_WEIGHT / len(walks) / len(walk.states) / len(ahead)] * len(ahead)
    values = np.array(rows)
    center, scale = values.mean(axis=0), values.std(axis=0)
    inputs = np.column_stack([(values - center) / scale, np.ones(len(values))])
    penalties = np.append(np.full(len(COLUMNS), L2), 0.0)
    found = fit_logistic(inputs, np.array(mended), np.array(weights), penalties, np.zeros(len(COLUMNS) + 1))
    raw = found[:-1] / scale
    about = {"walks": sum(map(len, sources.values())), "sources": list(sources), "states": len(rows)}
    model = Logistic(dict(zip(COLUMNS, raw.tolist(), strict=True)), float(found[-1] - raw @ center))
    return model, about


def sources_of() -> Mapping[str, Callable[[], Iterable[tr.Pool]]]:
    """Pools with many rollouts that may be fitted on."""
    return {name: partial(pools_of, name) for name in (WORLD, TTS)}


def kept_walks(
    file: Path,
    pools: Callable[[], Iterable[tr.Pool]],
    console: Console,
    questions: int = QUESTIONS,
    orders: int = ORDERS,
) -> list[Walk]:
    """The walks of a source, made or kept from an earlier run."""
    if not file.exists():
        walks = list(walks_of(islice(pools(), questions), load_selector(), orders=orders))
        file.write_text(json.dumps([asdict(walk) for walk in walks]), encoding="utf-8")
        console.print(f"{file.stem}: {len(walks):,} walks")
    plain = json.loads(file.read_text(encoding="utf-8"))
    return [
        Walk(
            row["question"],
            tuple(State(**{**state, "votes": tuple(state["votes"])}) for state in row["states"]),
            tuple(row["right"]),
        )
        for row in plain
    ]


def main(arguments: Sequence[str]) -> None:
    cache, out, console = Path(arguments[0]), Path(arguments[1]), Console(stderr=True)
    folder = cache / "stopping"
    folder.mkdir(parents=True, exist_ok=True)
    walks = {name: kept_walks(folder / f"{name}.json", pools, console) for name, pools in sources_of().items()}
    model, training = fit_recovery(walks)
    write_description(out / RECOVERY, {"format": FORMAT, **model.record(), "training": training})
    console.print(f"{out}: {model}")


if __name__ == "__main__":
    main(sys.argv[1:])
