"""A selector on disk: a folder with ``config.json`` and ``model.safetensors``. Never a pickle."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.trace.likeness import Likeness
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import GraphRecipe, NetConfig
from tracerank.votes.folders import read_description, restore, weights_file, write_description

FORMAT = "tracerank-checkpoint/1"
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
_SCALE = ":scale"
"""Ends the name of the scales of a matrix's rows."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A trained net with what is needed to use it."""

    net: TraceNet
    encoder: EncoderIdentity
    training: Mapping[str, Any] = field(default_factory=dict)
    """Summary of the run that made it: questions, best epoch, validation figures."""
    likeness: Likeness | None = None
    """Of the pools that it was trained on; None: unknown."""


def save_checkpoint(checkpoint: Checkpoint, folder: str | Path, *, is_compact: bool = False) -> None:
    """Write the folder; each file appears whole or not at all.

    ``is_compact``: a quarter of the size, with the rows of matrices as bytes and a scale.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "format": FORMAT,
        "recipe": asdict(checkpoint.net.recipe),
        "net": asdict(checkpoint.net.config),
        "encoder": asdict(checkpoint.encoder),
        "training": dict(checkpoint.training),
        "likeness": checkpoint.likeness and asdict(checkpoint.likeness),
    }
    with weights_file(folder / WEIGHTS_FILE) as draft:
        save_file(dict(_stored(checkpoint.net, is_compact)), draft)
    write_description(folder / CONFIG_FILE, config, WEIGHTS_FILE)


def load_checkpoint(folder: str | Path) -> Checkpoint:
    """Read a folder written by ``save_checkpoint``."""
    path = Path(folder) / CONFIG_FILE
    config = read_description(path, FORMAT, "checkpoint", WEIGHTS_FILE)
    recipe = restore(GraphRecipe, config.get("recipe"), path, "recipe")
    sizes = restore(NetConfig, config.get("net"), path, "net")
    encoder = restore(EncoderIdentity, config.get("encoder"), path, "encoder")
    if encoder.width != sizes.width:
        raise CheckpointError(f"{path}: the encoder is {encoder.width} wide, but the net expects {sizes.width}")
    try:
        with torch.device("meta"):  # a damaged description must not fill the memory
            net = TraceNet(sizes, recipe)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        raise CheckpointError(f"{path}: describes no network: {' '.join(str(error).split())[:200]}") from None
    _fill(net, Path(folder) / WEIGHTS_FILE)
    likeness = config.get("likeness") and restore(Likeness, config["likeness"], path, "likeness")
    return Checkpoint(net.eval(), encoder, config.get("training") or {}, likeness)


def _stored(net: TraceNet, is_compact: bool) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in net.state_dict().items():
        if is_compact and tensor.ndim > 1:
            scale = (tensor.abs().amax(-1, keepdim=True) / 127).clamp(min=torch.finfo(tensor.dtype).tiny)
            yield name, (tensor / scale).round().to(torch.int8).cpu()
            yield f"{name}{_SCALE}", scale.cpu()
        else:
            yield name, tensor.cpu().contiguous()


def _fill(net: TraceNet, path: Path) -> None:
    """Give a net its weights from a safetensors file, all tensors and no others."""
    most = 2 * sum(tensor.nbytes for tensor in net.state_dict().values()) + (1 << 20)
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise CheckpointError(f"{path}: no regular file; expected weights")
        if size > most:
            raise CheckpointError(f"{path}: {size:,} bytes, but the network needs less than {most:,}")
        stored = {name: tensor.to(torch.float32, copy=True) for name, tensor in load_file(path).items()}
        state = {
            name: tensor * stored.get(f"{name}{_SCALE}", 1.0)
            for name, tensor in stored.items()
            if not name.endswith(_SCALE)
        }
        net.load_state_dict(state, assign=True)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; the checkpoint is incomplete") from None
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise CheckpointError(f"{path}: does not fit the configuration beside it: {reason}") from None
