"""From pools to a fitted selector: which pools can be learned from, which rungs are tried on them, what is saved.

The rungs, the ladder that compares them and the folder are modules of their own; this puts them together:
``Fitting(pools_to_fit(pools), FitFolder("mine", {})).run()``.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tracerank.embedding.base import Embedder
from tracerank.errors import UsageError
from tracerank.evaluation.labels import Labelling
from tracerank.fitting.folder import FitFolder
from tracerank.fitting.ladder import LabelledPools, Ladder, OnDone, labelled_pools
from tracerank.fitting.rungs import Rung, feature_rungs, shipped_rung
from tracerank.pools.pool import Pool

FOLDS = 5
"""Parts that the questions are cut into, unless said otherwise."""


def pools_to_fit(pools: Iterable[Pool], labels: str | Labelling | None = None) -> LabelledPools:
    """The pools whose answers are all known to be right or wrong, by a rule of ``evaluation/labels.py``; None: auto."""
    labelling = labels if isinstance(labels, Labelling) else Labelling() if labels is None else Labelling(labels)
    data = replace(labelled_pools(labelling.pools(pools)), labels=labelling.record())
    if not data.pools:
        raise UsageError(
            f"not one of {sum(data.left_out.values()):,} questions is labelled; give pools with labels or with "
            "references to compare answers with"
        )
    return data


class Fitting:
    """The ladder over some pools, set up and still to climb, and the folder that its end is written to."""

    def __init__(
        self,
        data: LabelledPools,
        folder: FitFolder,
        embedder: Embedder | None = None,
        *,
        folds: int = FOLDS,
        seed: int = 0,
    ) -> None:
        """``embedder`` is for the rungs that read texts; None leaves them out. ``seed`` is of folds and weights."""
        self.data, self.folder = data, folder
        self.ladder = Ladder(data.pools, _rungs(data.pools, folder, embedder, seed), folds, seed, folder.work)

    @property
    def work(self) -> int:
        """How often ``on_done`` will be called."""
        return self.ladder.work

    def run(self, on_done: OnDone = lambda _: None) -> dict[str, Any]:
        """Compare, fit the winner on all pools and save it; the report that lies beside it."""
        return self.folder.write(self.ladder.run(on_done), self.data)


def _rungs(pools: tuple[Pool, ...], folder: FitFolder, embedder: Embedder | None, seed: int) -> tuple[Rung, ...]:
    """From simple to complex."""
    return (shipped_rung(), *feature_rungs(pools, seed))
