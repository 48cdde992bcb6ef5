"""The official release's checkpoints (``best.pt``) as our nets: names mapped, weights transposed, nothing executed."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from tracerank.errors import CheckpointError
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import OFFICIAL_RECIPES, GraphRecipe, NetConfig, relations

MAX_BYTES = 1 << 30
TASKS = {"webqa": WEBQA, "long_horizon": BROWSING}

ANSWER = {WEBQA: "answer", BROWSING: "response"}
EVIDENCE = {WEBQA: "chunk_occurrence", BROWSING: "evidence"}
RELATIONS = {
    "starts": ("query", "starts", "subquery"),
    "next": ("subquery", "next", "subquery"),
    "previous": ("subquery", "previous", "subquery"),
    **{f"rank{rank}": ("subquery", f"rank{rank}", "chunk_occurrence") for rank in (1, 2, 3)},
    **{f"rank{rank}_of": ("chunk_occurrence", f"rank{rank}_of", "subquery") for rank in (1, 2, 3)},
    "open": ("subquery", "opens", "evidence"),
    "open_of": ("evidence", "opened_by", "subquery"),
    "find": ("subquery", "finds", "evidence"),
    "find_of": ("evidence", "found_by", "subquery"),
    "same_content_within": ("chunk_occurrence", "same_content_intra_trace", "chunk_occurrence"),
    "same_content_cross": ("chunk_occurrence", "same_content_cross_trace", "chunk_occurrence"),
    "in_document": ("evidence", "belongs_to", "document"),
    "holds": ("document", "contains", "evidence"),
}
"""By our names of relations."""


def load_official(path: str | Path) -> TraceNet:
    """A net that scores as the official selector with this checkpoint."""
    path = Path(path)
    task, width, state = _read(path)
    if task not in TASKS:
        raise CheckpointError(f"{path}: task {task!r} is not one of {', '.join(TASKS)}")
    if not isinstance(width, int) or width < 1:
        raise CheckpointError(f"{path}: embedding_dim is missing or no length of a vector")
    setting = TASKS[task]
    try:
        net = TraceNet(NetConfig(width=width), OFFICIAL_RECIPES[setting])
        net.load_state_dict(translate(state, setting, net.recipe, net.config.layers))
    except KeyError as error:
        raise CheckpointError(f"{path}: tensor {error} is missing; not an official {task} checkpoint") from None
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise CheckpointError(f"{path}: does not fit the {task} network: {reason}") from None
    return net.eval()


def translate(state: Mapping[str, Tensor], setting: str, recipe: GraphRecipe, layers: int) -> dict[str, Tensor]:
    """Official tensors under our names and in our layout."""
    modules = {
        "query_readout": "query_readout",
        "answer_readout": f"{ANSWER[setting]}_readout",
        "attention.attention_norm": "answer_qformer.attention_norm",
        "attention.expand": "answer_qformer.feed_forward.0",
        "attention.contract": "answer_qformer.feed_forward.3",
        "attention.output_norm": "answer_qformer.output_norm",
    }
    texts = {
        "query": "query",
        "answer": ANSWER[setting],
        "search": "subquery",
        "evidence": EVIDENCE[setting].removesuffix("_occurrence"),
    }
    for ours, theirs in texts.items():
        modules |= {f"{ours}_encoder.project": f"{theirs}_encoder.0", f"{ours}_encoder.norm": f"{theirs}_encoder.1"}
    nodes = {"search": "subquery", "evidence": EVIDENCE[setting]}
    nodes |= {"document": "document"} if recipe.documents != "none" else {}
    for ours, theirs in nodes.items():
        modules |= {f"layers.{n}.{ours}_norm": f"norms.{n}.{theirs}" for n in range(layers)}
    names = {
        "log_scale": "logit_scale",
        "votes.weight": "answer_occurrence_weight" if setting == WEBQA else "vote_projection.weight",
        "attention.type_embedding": "answer_qformer.context_type",
        **{
            f"attention.{n}.weight": f"answer_qformer.{n}_projection.weight"
            for n in ("query", "key", "value", "output")
        },
        **{f"{ours}.{part}": f"{modules[ours]}.{part}" for ours in modules for part in ("weight", "bias")},
    }
    translated = {ours: state[theirs] for ours, theirs in names.items()}
    if recipe.keeps_bare_searches:
        translated["orphan"] = state["orphan_state"].squeeze(0)
    if recipe.documents != "none":
        translated["document"] = state["document_state"].squeeze(0)
    for n in range(layers):
        translated |= {f"layers.{n}.{name}": tensor for name, tensor in _relations(state, n, recipe).items()}
    return translated


def _relations(state: Mapping[str, Tensor], layer: int, recipe: GraphRecipe) -> dict[str, Tensor]:
    """Weights and biases of one layer's relations; those of the slots are stacked."""
    convolutions = {relation.name: "___".join(RELATIONS[relation.name]) for relation in relations(recipe)}
    weight, bias = (
        {name: state[f"convs.{layer}.convs.<{theirs}>.lin_l.{part}"] for name, theirs in convolutions.items()}
        for part in ("weight", "bias")
    )
    back = [f"{slot}_of" for slot in recipe.slots]
    others = [name for name in convolutions if name not in (*recipe.slots, *back)]
    return {
        "slot_weight": torch.stack([weight[slot].t() for slot in recipe.slots], dim=1),
        "slot_bias": torch.stack([bias[slot] for slot in recipe.slots]),
        "slot_of_weight": torch.stack([weight[name].t() for name in back]),
        "slot_of_bias": torch.stack([bias[name] for name in back]),
        **{f"weight.{name}": weight[name].t() for name in others},
        **{f"bias.{name}": bias[name] for name in others},
    }


def _read(path: Path) -> tuple[str, object, Mapping[str, Tensor]]:
    """Task, vector width and tensors; tensor data only, no code is run."""
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; expected the official release's best.pt")
    if path.stat().st_size > MAX_BYTES:
        raise CheckpointError(f"{path}: over {MAX_BYTES >> 20} MB; no official checkpoint is that large")
    try:
        payload = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what torch raises for bytes that are no checkpoint is not a closed list
        # Its advice is to switch the safety off, which must not reach the user.
        raise CheckpointError(
            f"{path}: not a file of tensors alone ({type(error).__name__}); it was not loaded"
        ) from None
    state = payload.get("model_state") if isinstance(payload, dict) else None
    if not isinstance(state, dict) or not all(isinstance(each, Tensor) for each in state.values()):
        raise CheckpointError(f"{path}: expected task, embedding_dim and model_state, as the official trainer writes")
    return str(payload.get("task")), payload.get("embedding_dim"), state
