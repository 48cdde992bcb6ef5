"""Folders of trained ``plus`` nets: ``selector.json`` says what they are, ``selector.safetensors`` holds their weights.

No tensors: where there is no torch, folders are read all the same. What the weights compute is told elsewhere.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.selectors.plus.facts import CROSS_FAMILIES, FEATURE_NAMES, FEATURE_VERSION
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.trace.sizes import NetConfig
from tracerank.votes.selector import read_description, restore, weights_file, write_description

FORMAT = "tracerank-plus/1"
KIND = "trace-plus"
ABOUT_FILE = "selector.json"
WEIGHTS_FILE = "selector.safetensors"

Weights = Mapping[str, NDArray[np.float32]]
"""By name; the first part of a name is the number of the net."""


@dataclass(frozen=True, slots=True)
class PlusConfig:
    """Sizes and parts of the network; 0 leaves a part out."""

    width: int = 0
    """Length of the frozen vectors; 0: there are none, and no ``sources``."""
    dropped_families: tuple[str, ...] = CROSS_FAMILIES
    """Families of features that are not looked at: what others saw comes by the links of the graph instead."""
    among: int = 16
    """Width of the comparison between candidates."""
    sources: float = 0.1
    """Scale of the mean vector of own texts that hold the answer in a linear correction of its own; 0: none."""
    gate: float = 0.1
    """Where the factor of TRACE's score starts."""
    hidden: int = 32
    layers: int = 2
    heads: int = 4
    feed_forward: int = 64
    dropout: float = 0.3

    def __post_init__(self) -> None:
        if min(self.width, self.among) < 0 or (self.sources and not self.width):
            raise ValueError("sizes must not be negative, and sources need a width")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")

    @property
    def net(self) -> NetConfig:
        """Of the part that is TRACE."""
        return NetConfig(NO_TEXTS, self.hidden, self.layers, self.heads, self.feed_forward, self.dropout)


NO_TEXTS = 1
"""Width of what stands for a text in the part that is TRACE: a zero."""
COMPARING_HEADS = 2
"""Of the comparison between candidates."""


@dataclass(frozen=True, slots=True)
class PlusAbout:
    """What a folder says about its nets."""

    config: PlusConfig
    recipe: GraphRecipe
    names: tuple[str, ...] = FEATURE_NAMES
    """The features that the nets look at."""
    nets: int = 1
    """Of one configuration, trained from different seeds; their chances are averaged."""
    encoder: EncoderIdentity | None = None
    """Whose vectors they read; None: they read none."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Summary of the run that made them."""


def write_folder(about: PlusAbout, weights: Weights, folder: str | Path) -> None:
    """Write the folder; each file appears whole or not at all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with weights_file(folder / WEIGHTS_FILE) as draft:
        save_file(dict(weights), draft)
    described = {
        "format": FORMAT,
        "kind": KIND,
        "features": {"version": FEATURE_VERSION, "names": about.names},
        "nets": about.nets,
        "net": asdict(about.config),
        "recipe": asdict(about.recipe),
        "encoder": None if about.encoder is None else asdict(about.encoder),
        "training": dict(about.training),
    }
    write_description(folder / ABOUT_FILE, described, WEIGHTS_FILE)


def read_about(folder: str | Path) -> PlusAbout:
    """The description of a folder that ``write_folder`` wrote."""
    path = Path(folder) / ABOUT_FILE
    about = read_description(path, FORMAT, "plus selector", WEIGHTS_FILE)
    names = _names(about.get("features"), path)
    recipe = restore(GraphRecipe, about.get("recipe"), path, "recipe")
    config = restore(PlusConfig, _without_gone(about.get("net"), path), path, "net")
    count = about.get("nets")
    if not isinstance(count, int) or not 0 < count <= 100:
        raise CheckpointError(f"{path}: 'nets' is {count!r}; expected how many nets there are")
    encoder = None
    if config.sources:
        encoder = restore(EncoderIdentity, about.get("encoder"), path, "encoder")
        if encoder.width != config.width:
            raise CheckpointError(f"{path}: the encoder is {encoder.width} wide, but the nets expect {config.width}")
    return PlusAbout(config, recipe, names, count, encoder, about.get("training") or {})


def read_weights(folder: str | Path) -> Weights:
    """All weights of a folder as arrays."""
    path = Path(folder) / WEIGHTS_FILE
    try:
        return load_file(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; the checkpoint is incomplete") from None
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None


_GONE: Mapping[str, object] = {
    "by_size": True,
    "feature_hidden": 0,
    "vote_dropout": 0.0,
    "cosines": False,
    "graph": True,
    "marks": True,
    "texts": False,
    "rank": 32,
    "input_dropout": 0.3,
}
"""Parts that earlier versions could switch, with what is always so now."""


def _without_gone(net: object, path: Path) -> object:
    if not isinstance(net, dict):
        return net
    for name in _GONE.keys() & net.keys():
        if net[name] != _GONE[name]:
            raise CheckpointError(
                f"{path}: net {name!r} is {net[name]!r}, a variant that this version no longer has; train again"
            )
    return {name: value for name, value in net.items() if name not in _GONE}


def _names(made_for: object, path: Path) -> tuple[str, ...]:
    """The features that the nets look at, all of which this version must compute."""
    version = made_for.get("version") if isinstance(made_for, dict) else made_for
    names = made_for.get("names") if isinstance(made_for, dict) else None
    listed = tuple(map(str, names)) if isinstance(names, list) else ()
    unknown = ", ".join(name for name in listed if name not in FEATURE_NAMES)
    if version != FEATURE_VERSION or not listed or unknown:
        raise CheckpointError(
            f"{path}: trained on features of version {version}, this version computes {FEATURE_VERSION}"
            f"{f' and does not know {unknown}' if unknown else ''}; train again"
        )
    return listed
