"""A feature selector that also looks at another method's scores, such as TRACE's."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError, UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable, feature_table
from tracerank.selectors.features.model import FeatureModel, load_model, log_softmax, save_model
from tracerank.selectors.features.selector import decision
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.selector import EmbedderChoice, Selector, load_selector
from tracerank.votes.voting import ANSWERED

COLUMN = "method_score"
"""Log chance that the other method gives a form, by the softmax of its scores over the pool's rollouts."""
TRACE_FOLDER = "trace"
BLOCK_POOLS = 64
_FLOOR = -10.0
"""Log chance of a form none of whose rollouts the other method scored, when it scored others."""


class StackedSelector(Selector):
    """Features and a method's scores, weighed by one fitted model."""

    kind = "stack"
    grouping = DefaultGroups()

    def __init__(self, method: Method, model: FeatureModel) -> None:
        if model.extra != (COLUMN,):
            raise CheckpointError(
                f"the model was fitted with the extra columns {model.extra}; a stack needs {COLUMN!r}"
            )
        self.method = method
        self.model = model

    @property
    def name(self) -> str:
        return f"stack-{self.method.name}"

    @property
    def encoder(self) -> EncoderIdentity | None:
        return self.method.encoder if isinstance(self.method, Selector) else None

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "StackedSelector":
        """From a folder that ``save`` wrote; TRACE takes its own encoder unless another is given."""
        model, trace = load_model(folder, (COLUMN,)), Path(folder) / TRACE_FOLDER
        return cls(load_selector(trace, embedder, allow_encoder_mismatch=allow_encoder_mismatch), model)

    def save(self, folder: str | Path) -> None:
        """The model, and TRACE in a folder below it."""
        if not isinstance(self.method, Selector):
            raise UsageError(f"a stack on {self.method.name!r} cannot be saved; only one on TRACE can")
        self.method.save(Path(folder) / TRACE_FOLDER)
        save_model(self.model, folder, self.kind)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order; the other method sees blocks, where it can use them."""
        stream = iter(pools)
        while block := list(islice(stream, BLOCK_POOLS)):
            for pool, given in decide_stream(self.method, block):
                yield self._weighed(pool, given)

    def _weighed(self, pool: Pool, given: Decision) -> Decision:
        retained = pool.retained(ANSWERED)
        table = with_scores(feature_table(pool.question.text, retained.kept), retained.kept, given.scores)
        return self.sure(pool, replace(decision(pool, retained, self.model, table), usage=given.usage))


def with_scores(table: FeatureTable, kept: tuple[Rollout, ...], scores: Mapping[int, float]) -> FeatureTable:
    """The table with the other method's opinion as a further column; NaN: it scored nobody."""
    scored = [rollout.sample_id for rollout in kept if rollout.sample_id in scores]
    logs = log_softmax(np.array([scores[sample] for sample in scored], np.float64))
    of_sample = dict(zip(scored, logs.tolist(), strict=True))
    column = [
        float(np.logaddexp.reduce([_FLOOR, *(of_sample.get(kept[place].sample_id, _FLOOR) for place in places)]))
        if scored
        else np.nan
        for places in table.rollouts
    ]
    values = np.column_stack([table.values, np.array(column, np.float32)]).astype(np.float32)
    return replace(table, values=values)
