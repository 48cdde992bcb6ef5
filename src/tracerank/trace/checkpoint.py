"""A selector on disk: a folder with ``config.json`` and ``model.safetensors``. Never a pickle."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from tracerank.embedding.base import EncoderIdentity
from tracerank.errors import CheckpointError
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import GraphRecipe, NetConfig
from tracerank.votes.folders import read_description, restore, weights_file, write_description

FORMAT = "tracerank-checkpoint/1"
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything needed to use a trained net without being told who trained it."""

    net: TraceNet
    encoder: EncoderIdentity
    training: Mapping[str, Any] = field(default_factory=dict)
    """Summary of the run that made it: setting, questions, best epoch, validation figures."""

    @property
    def recipe(self) -> GraphRecipe:
        return self.net.recipe


def save_checkpoint(checkpoint: Checkpoint, folder: str | Path) -> None:
    """Write the folder; each file appears whole or not at all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "format": FORMAT,
        "recipe": asdict(checkpoint.net.recipe),
        "net": asdict(checkpoint.net.config),
        "encoder": asdict(checkpoint.encoder),
        "training": dict(checkpoint.training),
    }
    weights = {name: tensor.contiguous() for name, tensor in checkpoint.net.state_dict().items()}
    with weights_file(folder / WEIGHTS_FILE) as draft:
        save_file(weights, draft)
    write_description(folder / CONFIG_FILE, config, WEIGHTS_FILE)


def load_checkpoint(folder: str | Path) -> Checkpoint:
    """Read a folder written by ``save_checkpoint``."""
    folder = Path(folder)
    path = folder / CONFIG_FILE
    config = read_description(path, FORMAT, "checkpoint", WEIGHTS_FILE)
    recipe = restore(GraphRecipe, config.get("recipe"), path, "recipe")
    sizes = restore(NetConfig, config.get("net"), path, "net")
    _check_size(sizes, path)
    try:
        net = TraceNet(sizes, recipe)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        raise CheckpointError(f"{path}: describes no network: {' '.join(str(error).split())[:200]}") from None
    load_weights(net, folder / WEIGHTS_FILE)
    encoder = restore(EncoderIdentity, config.get("encoder"), path, "encoder")
    if encoder.width != sizes.width:
        raise CheckpointError(f"{path}: the encoder is {encoder.width} wide, but the net expects {sizes.width}")
    return Checkpoint(net.eval(), encoder, config.get("training") or {})


def _check_size(sizes: NetConfig, path: Path) -> None:
    """Refuse a network that is larger than its weights, before memory is asked for it."""
    weights = path.with_name(WEIGHTS_FILE)
    least = sizes.width * sizes.hidden + sizes.layers * sizes.hidden**2  # numbers, each of more than a byte
    if weights.is_file() and least > weights.stat().st_size:
        raise CheckpointError(f"{path}: describes a network that is larger than {WEIGHTS_FILE} beside it")


def load_weights(net: nn.Module, path: Path) -> None:
    """Fill a net from a safetensors file, all tensors and no others."""
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path}: no regular file; expected weights")
    most = 2 * sum(tensor.nbytes for tensor in net.state_dict().values()) + (1 << 20)
    if path.exists() and path.stat().st_size > most:
        raise CheckpointError(f"{path}: {path.stat().st_size:,} bytes, but the network needs less than {most:,}")
    try:
        state = load_file(path)
        net.load_state_dict(state)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; the checkpoint is incomplete") from None
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise CheckpointError(f"{path}: does not fit the configuration beside it: {reason}") from None
