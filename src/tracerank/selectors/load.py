"""Trained selectors by their folder: which kind it holds, and the method that it makes."""

import json
from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tracerank.embedding.base import Embedder
from tracerank.errors import CheckpointError
from tracerank.extras import needed
from tracerank.methods.base import Selector

if TYPE_CHECKING:
    from tracerank.embedding.base import EncoderIdentity

ABOUT = "selector.json"
"""What every kind but TRACE describes itself in."""
DEFAULT, BROWSING = "default", "browsing"
SHIPPED = (DEFAULT, BROWSING)
"""Selectors that come with the package; write ``./default`` for a folder of your own with such a name."""
TRACE, FEATURES, STACK, PLUS, VOTE, GATED = "trace", "features", "stack", "trace-plus", "vote", "gated"
_CLASSES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        TRACE: ("trace.selector", "TraceSelector", "from_folder"),
        FEATURES: ("features.selector", "FeatureSelector", "load"),
        STACK: ("stack", "StackedSelector", "load"),
        PLUS: ("plus.selector", "PlusSelector", "load"),
        VOTE: ("gate.selector", "CalibratedVote", "load"),
        GATED: ("gate.selector", "GatedSelector", "load"),
    }
)
"""Module, class and what loads it, imported when they are needed: some bring torch."""
KINDS = tuple(_CLASSES)
_WITHOUT_ENCODER = (FEATURES, VOTE)


def folder_of(name: str | Path) -> Path:
    """The folder of a shipped selector by its name; any other name is a folder itself."""
    if name in SHIPPED:
        return Path(str(files("tracerank.selectors.shipped").joinpath(str(name))))
    return Path(name)


def selector_kind(folder: str | Path) -> str:
    """What the folder says of itself, else ``trace``, whose loader tells what is missing."""
    about = folder_of(folder) / ABOUT
    try:
        value = json.loads(about.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return TRACE
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{about}: cannot be read ({error}); train again or restore the folder") from None
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind not in KINDS:
        raise CheckpointError(f"{about}: holds a selector of kind {kind!r}; known are {', '.join(KINDS)}")
    return str(kind)


def _network_folder(folder: str | Path) -> Path | None:
    """Where a selector's folder holds the network, which knows its encoder; None: it has none."""
    kind, folder = selector_kind(folder), folder_of(folder)
    if kind == GATED:
        from tracerank.selectors.gate.selector import SELECTOR_FOLDER

        return _network_folder(folder / SELECTOR_FOLDER)
    if kind == STACK:
        from tracerank.selectors.stack import TRACE_FOLDER

        return folder / TRACE_FOLDER
    return None if kind in _WITHOUT_ENCODER else folder


def encoder_of(folder: str | Path) -> "EncoderIdentity | None":
    """The encoder that the selector in a folder was trained with; None: it needs none."""
    found = _network_folder(folder)
    if found is None:
        return None
    if selector_kind(found) == PLUS:
        with needed(f"{found}: needs", "embed", CheckpointError):
            from tracerank.selectors.plus.checkpoint import load_plus

        return load_plus(found).encoder
    with needed(f"{found}: needs", "embed", CheckpointError):
        from tracerank.selectors.trace.checkpoint import load_checkpoint

    return load_checkpoint(found).encoder


def load_selector(
    folder: str | Path = DEFAULT, embedder: Embedder | None = None, *, allow_encoder_mismatch: bool = False
) -> Selector:
    """The trained selector in a folder, whatever its kind; one that reads texts takes its own embedder by default."""
    kind, folder = selector_kind(folder), folder_of(folder)
    module, name, loader = _CLASSES[kind]
    with needed(f"{folder}: a selector of kind {kind} needs", "embed", CheckpointError):
        load: Any = getattr(getattr(import_module(f"tracerank.selectors.{module}"), name), loader)
    if kind in _WITHOUT_ENCODER:
        made: Selector = load(folder)
    else:
        made = load(folder, embedder, allow_encoder_mismatch=allow_encoder_mismatch)
    return made
