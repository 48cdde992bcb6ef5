"""WEBQA and BROWSING: which graph recipe, loss rule and optimisation belong together.

The two settings differ only in the values gathered here and in ``trace/graphs/schema.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tracerank.errors import UsageError
from tracerank.trace.graphs.schema import BROWSING_RECIPE, WEBQA_RECIPE, GraphRecipe
from tracerank.trace.training.losses import LossRule, TrainingPlan


@dataclass(frozen=True, slots=True)
class SearchSetting:
    """Everything that the paper chooses per search setting."""

    name: str
    recipe: GraphRecipe
    plan: TrainingPlan


WEBQA = SearchSetting(
    "webqa",
    WEBQA_RECIPE,
    TrainingPlan(loss=LossRule(listwise_needs_negatives=False), batch_pools=256, mixed_among="samples"),
)

BROWSING = SearchSetting(
    "browsing",
    BROWSING_RECIPE,
    TrainingPlan(loss=LossRule(listwise_needs_negatives=True), batch_pools=4, mixed_among="retained"),
)

SETTINGS: Mapping[str, SearchSetting] = MappingProxyType({setting.name: setting for setting in (WEBQA, BROWSING)})


def setting_named(name: str) -> SearchSetting:
    """The setting of this name."""
    if name not in SETTINGS:
        raise UsageError(f"no search setting is called {name!r}; choose one of {', '.join(SETTINGS)}")
    return SETTINGS[name]
