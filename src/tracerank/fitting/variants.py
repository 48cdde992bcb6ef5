"""The rows of the paper's two ablation tables: named changes to the full selector of a search setting.

A variant is values only. What a graph control changes stands in ``selectors/trace/graphs/recipes.py``; here they are
put beside the controls of the net, in the order of the paper's tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tracerank.errors import UsageError
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.selectors.trace.graphs.recipes import CONTROLS, RECIPES
from tracerank.selectors.trace.graphs.schema import GraphRecipe

FULL = "full"


@dataclass(frozen=True, slots=True)
class Variant:
    """One row: a graph recipe and what differs in the net."""

    name: str
    recipe: GraphRecipe
    net: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``NetConfig`` that take another value."""
    published: float | None = None
    """The paper's accuracy in %, K=16; None: the paper left it out."""

    @property
    def slug(self) -> str:
        """The name as the command line and folders have it."""
        return self.name.lower().replace(" ", "-")


_NET_CONTROLS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "no GNN": {"layers": 0},
        "fixed query": {"readout": "fixed"},
        "graph readout": {"readout": "graph"},
        "two-stage": {"readout": "two_stage"},
    }
)

PUBLISHED: Mapping[str, tuple[float | None, float | None]] = MappingProxyType(
    {
        FULL: (45.2, 78.6),
        "no cross-rollout": (43.9, 72.7),
        "no GNN": (43.7, 75.5),
        "fixed query": (44.7, 75.6),
        "merge evidence": (44.1, 77.1),
        "merge answers": (44.9, 76.3),
        "merge both": (44.4, 76.4),
        "graph readout": (44.7, 75.8),
        "two-stage": (44.8, 75.1),
        "no content links": (43.8, None),
        "no Doc or content links": (None, 71.1),
        "content links only": (None, 76.5),
        "Doc and content links": (None, 76.9),
    }
)
"""WebQA exact match and long-horizon accuracy in % (Tables 3 and B.1), in the order of the tables."""


def _variants(setting: str, published: Mapping[str, float | None]) -> Mapping[str, Variant]:
    recipes = {FULL: RECIPES[setting], **CONTROLS[setting]}
    found = [
        Variant(name, recipes.get(name, RECIPES[setting]), _NET_CONTROLS.get(name, {}), accuracy)
        for name, accuracy in published.items()
        if name in recipes or name in _NET_CONTROLS
    ]
    return MappingProxyType({variant.slug: variant for variant in found})


VARIANTS: Mapping[str, Mapping[str, Variant]] = MappingProxyType(
    {
        WEBQA: _variants(WEBQA, {name: figures[0] for name, figures in PUBLISHED.items()}),
        BROWSING: _variants(BROWSING, {name: figures[1] for name, figures in PUBLISHED.items()}),
    }
)
"""By setting and by name on the command line; ``full`` is first."""


def variants_named(setting: str, names: str | None = None) -> tuple[Variant, ...]:
    """The variants of a comma-separated list, in the order of the tables; all without a list."""
    known = VARIANTS[setting]
    if names is None:
        return tuple(known.values())
    wanted = {name.strip().lower().replace(" ", "-") for name in names.split(",")} - {""}
    unknown = sorted(wanted - known.keys())
    if unknown or not wanted:
        raise UsageError(
            f"no variant of {setting} is called {unknown[0] if unknown else names!r}; choose from {', '.join(known)}"
        )
    return tuple(variant for slug, variant in known.items() if slug in wanted)
