"""Trained ``plus`` nets as torch knows them: from and to their folder, and what they say about graphs and texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from tracerank.embedding.base import Embedder, EncoderIdentity
from tracerank.embedding.load import embedder_for
from tracerank.errors import CheckpointError
from tracerank.selectors.plus.array_net import ArrayNets
from tracerank.selectors.plus.choice import PlusNets
from tracerank.selectors.plus.description import (
    ABOUT_FILE,
    WEIGHTS_FILE,
    PlusAbout,
    PlusConfig,
    Weights,
    read_about,
    write_folder,
)
from tracerank.selectors.plus.facts import PlusFacts
from tracerank.selectors.plus.inputs import plus_inputs
from tracerank.selectors.plus.net import PlusNet, chances
from tracerank.trace.bridge import check_encoder, embedded
from tracerank.trace.checkpoint import load_weights
from tracerank.trace.graphs.build import PoolGraph
from tracerank.trace.graphs.packed import collate
from tracerank.trace.graphs.schema import GraphRecipe
from tracerank.votes.selector import EmbedderChoice


@dataclass(frozen=True, slots=True)
class PlusCheckpoint:
    """Everything needed to use trained nets without being told who trained them."""

    nets: tuple[PlusNet, ...]
    """Of one configuration, trained from different seeds; their chances are averaged."""
    encoder: EncoderIdentity | None
    """None: the nets read no vectors."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Summary of the run that made them."""

    def __post_init__(self) -> None:
        if not self.nets or any((net.config, net.recipe) != (self.config, self.recipe) for net in self.nets):
            raise ValueError("a checkpoint needs at least one net, and one configuration for all")
        if bool(self.config.sources) != (self.encoder is not None):
            raise ValueError("nets that read vectors need an encoder, and no others do")

    @property
    def config(self) -> PlusConfig:
        return self.nets[0].config

    @property
    def recipe(self) -> GraphRecipe:
        return self.nets[0].recipe

    def about(self) -> PlusAbout:
        """What its folder says."""
        names = self.nets[0].names
        return PlusAbout(self.config, self.recipe, names, len(self.nets), self.encoder, self.training)

    def weights(self) -> Weights:
        """As arrays."""
        state = nn.ModuleList(self.nets).state_dict()
        return {name: tensor.detach().contiguous().numpy() for name, tensor in state.items()}


def save_plus(checkpoint: PlusCheckpoint, folder: str | Path) -> None:
    """Write the folder; each file appears whole or not at all."""
    write_folder(checkpoint.about(), checkpoint.weights(), folder)


def load_plus(folder: str | Path) -> PlusCheckpoint:
    """Read a folder written by ``save_plus``."""
    folder = Path(folder)
    about = read_about(folder)
    try:
        nets = [PlusNet(about.config, about.recipe, about.names) for _ in range(about.nets)]
    except (TypeError, ValueError, RuntimeError, ArithmeticError, AssertionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(f"{folder / ABOUT_FILE}: describes no network: {reason}") from None
    load_weights(nn.ModuleList(nets), folder / WEIGHTS_FILE)
    return PlusCheckpoint(tuple(net.eval() for net in nets), about.encoder, about.training)


class TextNets:
    """Nets that read the vectors of texts, and who gives these."""

    def __init__(self, checkpoint: PlusCheckpoint, embedder: Embedder) -> None:
        self.checkpoint, self.embedder = checkpoint, embedder

    @property
    def recipe(self) -> GraphRecipe:
        return self.checkpoint.recipe

    @property
    def encoder(self) -> EncoderIdentity | None:
        return self.checkpoint.encoder

    def chances(self, graphs: Sequence[PoolGraph], facts: Sequence[PlusFacts]) -> NDArray[np.float32]:
        batch = collate([graph.packed for graph in graphs])
        inputs = plus_inputs(batch, self.recipe, embedded(graphs, self.embedder), facts)
        found: NDArray[np.float32] = chances(self.checkpoint.nets, inputs).numpy()
        return found

    def save(self, folder: str | Path) -> None:
        save_plus(self.checkpoint, folder)


def nets_of(
    checkpoint: PlusCheckpoint, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
) -> PlusNets:
    """What a selector asks: without texts plain arrays, as in the base; else with the encoder of the training."""
    if checkpoint.encoder is None:
        return ArrayNets(checkpoint.about(), checkpoint.weights())
    found = embedder_for(checkpoint.encoder, embedder)
    check_encoder(checkpoint.encoder, found, allow_encoder_mismatch)
    return TextNets(checkpoint, found)
