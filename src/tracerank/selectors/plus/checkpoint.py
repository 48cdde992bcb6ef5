"""Trained ``plus`` nets on disk: ``selector.json`` says what they are, ``selector.safetensors`` holds their weights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.pools.files import replacing
from tracerank.selectors.base import read_description, write_description
from tracerank.selectors.plus.facts import FEATURE_NAMES, FEATURE_VERSION
from tracerank.selectors.plus.net import PlusConfig, PlusNet
from tracerank.selectors.trace.checkpoint import load_weights, restore
from tracerank.selectors.trace.graphs.schema import GraphRecipe

FORMAT = "tracerank-plus/1"
KIND = "trace-plus"
ABOUT_FILE = "selector.json"
WEIGHTS_FILE = "selector.safetensors"


@dataclass(frozen=True, slots=True)
class PlusCheckpoint:
    """Everything needed to use trained nets without being told who trained them."""

    nets: tuple[PlusNet, ...]
    """Of one configuration, trained from different seeds; their chances are averaged."""
    encoder: EncoderIdentity
    training: Mapping[str, Any] = field(default_factory=dict)
    """Summary of the run that made them."""

    def __post_init__(self) -> None:
        if not self.nets or any((net.config, net.recipe) != (self.config, self.recipe) for net in self.nets):
            raise ValueError("a checkpoint needs at least one net, and one configuration for all")

    @property
    def config(self) -> PlusConfig:
        return self.nets[0].config

    @property
    def recipe(self) -> GraphRecipe:
        return self.nets[0].recipe


def save_plus(checkpoint: PlusCheckpoint, folder: str | Path) -> None:
    """Write the folder; each file appears whole or not at all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "format": FORMAT,
        "kind": KIND,
        "features": {"version": FEATURE_VERSION, "names": checkpoint.nets[0].names},
        "nets": len(checkpoint.nets),
        "net": asdict(checkpoint.config),
        "recipe": asdict(checkpoint.recipe),
        "encoder": asdict(checkpoint.encoder),
        "training": dict(checkpoint.training),
    }
    state = nn.ModuleList(checkpoint.nets).state_dict()
    weights = {name: tensor.contiguous() for name, tensor in state.items()}
    with replacing(folder / WEIGHTS_FILE) as draft:
        save_file(weights, draft)
    write_description(folder / ABOUT_FILE, about)


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


def load_plus(folder: str | Path) -> PlusCheckpoint:
    """Read a folder written by ``save_plus``."""
    folder = Path(folder)
    path = folder / ABOUT_FILE
    about = read_description(path, FORMAT, "plus selector", WEIGHTS_FILE)
    names = _names(about.get("features"), path)
    recipe = restore(GraphRecipe, about.get("recipe"), path, "recipe")
    config = restore(PlusConfig, _without_gone(about.get("net"), path), path, "net")
    encoder = restore(EncoderIdentity, about.get("encoder"), path, "encoder")
    count = about.get("nets")
    if not isinstance(count, int) or not 0 < count <= 100:
        raise CheckpointError(f"{path}: 'nets' is {count!r}; expected how many nets there are")
    if encoder.width != config.width:
        raise CheckpointError(f"{path}: the encoder is {encoder.width} wide, but the nets expect {config.width}")
    try:
        nets = [PlusNet(config, recipe, names) for _ in range(count)]
    except (TypeError, ValueError, RuntimeError, ArithmeticError, AssertionError) as error:
        raise CheckpointError(f"{path}: describes no network: {' '.join(str(error).split())[:200]}") from None
    load_weights(nn.ModuleList(nets), folder / WEIGHTS_FILE)
    return PlusCheckpoint(tuple(net.eval() for net in nets), encoder, about.get("training") or {})
