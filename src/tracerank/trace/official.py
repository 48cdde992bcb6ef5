"""The official release's checkpoints (``best.pt``) as our nets: names mapped, weights transposed, nothing executed."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tracerank.errors import CheckpointError
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import OFFICIAL_RECIPES, GraphRecipe, NetConfig

MAX_BYTES = 1 << 30
TASKS = MappingProxyType({"webqa": WEBQA, "long_horizon": BROWSING})

EVIDENCE = MappingProxyType({WEBQA: "chunk_occurrence", BROWSING: "evidence"})
EVIDENCE_ENCODER = MappingProxyType({WEBQA: "chunk", BROWSING: "evidence"})
ANSWER = MappingProxyType({WEBQA: "answer", BROWSING: "response"})
VOTES = MappingProxyType({WEBQA: "answer_occurrence_weight", BROWSING: "vote_projection.weight"})
SLOTS = MappingProxyType(
    {
        WEBQA: tuple((f"rank{rank}", f"rank{rank}_of") for rank in (1, 2, 3)),
        BROWSING: (("opens", "opened_by"), ("finds", "found_by")),
    }
)
"""Their names of each slot's relation and its reverse, in our order of slots."""

RELATIONS = MappingProxyType(
    {
        "starts": ("query", "starts", "subquery"),
        "next": ("subquery", "next", "subquery"),
        "previous": ("subquery", "previous", "subquery"),
        "same_content_within": ("chunk_occurrence", "same_content_intra_trace", "chunk_occurrence"),
        "same_content_cross": ("chunk_occurrence", "same_content_cross_trace", "chunk_occurrence"),
        "in_document": ("evidence", "belongs_to", "document"),
        "holds": ("document", "contains", "evidence"),
    }
)

READOUT = MappingProxyType(
    {
        "query.weight": "query_projection.weight",
        "key.weight": "key_projection.weight",
        "value.weight": "value_projection.weight",
        "output.weight": "output_projection.weight",
        "type_embedding": "context_type",
        "attention_norm.weight": "attention_norm.weight",
        "attention_norm.bias": "attention_norm.bias",
        "expand.weight": "feed_forward.0.weight",
        "expand.bias": "feed_forward.0.bias",
        "contract.weight": "feed_forward.3.weight",
        "contract.bias": "feed_forward.3.bias",
        "output_norm.weight": "output_norm.weight",
        "output_norm.bias": "output_norm.bias",
    }
)


def load_official(path: str | Path) -> TraceNet:
    """The net of an official ``best.pt`` (or its safetensors copy), for either search setting."""
    path = Path(path)
    task, width, state = _read(path)
    if task not in TASKS:
        raise CheckpointError(f"{path}: task {task!r} is not one of {', '.join(TASKS)}")
    if width < 1:
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
    evidence = EVIDENCE[setting]
    ours = {
        "votes.weight": state[VOTES[setting]],
        "log_scale": state["logit_scale"],
        **_linear(state, "query_readout", "query_readout"),
        **_linear(state, "answer_readout", f"{ANSWER[setting]}_readout"),
        **{f"attention.{name}": state[f"answer_qformer.{theirs}"] for name, theirs in READOUT.items()},
    }
    encoders = {
        "query": "query",
        "answer": ANSWER[setting],
        "search": "subquery",
        "evidence": EVIDENCE_ENCODER[setting],
    }
    for name, theirs in encoders.items():
        ours |= _linear(state, f"{name}_encoder.project", f"{theirs}_encoder.0")
        ours |= _linear(state, f"{name}_encoder.norm", f"{theirs}_encoder.1")
    if recipe.keeps_bare_searches:
        ours["orphan"] = state["orphan_state"].squeeze(0)
    if recipe.documents != "none":
        ours["document"] = state["document_state"].squeeze(0)
    for number in range(layers):
        ours |= {f"layers.{number}.{name}": tensor for name, tensor in _layer(state, number, setting).items()}
        norms = {"search_norm": "subquery", "evidence_norm": evidence, "document_norm": "document"}
        for name, theirs in norms.items():
            if f"norms.{number}.{theirs}.weight" in state:
                ours |= _linear(state, f"layers.{number}.{name}", f"norms.{number}.{theirs}")
    return ours


def _linear(state: Mapping[str, Tensor], ours: str, theirs: str) -> dict[str, Tensor]:
    return {f"{ours}.{part}": state[f"{theirs}.{part}"] for part in ("weight", "bias")}


def _layer(state: Mapping[str, Tensor], number: int, setting: str) -> dict[str, Tensor]:
    def conv(relation: tuple[str, str, str], part: str) -> Tensor:
        return state[f"convs.{number}.convs.<{'___'.join(relation)}>.lin_l.{part}"]

    evidence = EVIDENCE[setting]
    forward = [("subquery", slot, evidence) for slot, _ in SLOTS[setting]]
    backward = [(evidence, slot, "subquery") for _, slot in SLOTS[setting]]
    layer = {
        "slot_weight": torch.stack([conv(relation, "weight").t() for relation in forward], dim=1),
        "slot_bias": torch.stack([conv(relation, "bias") for relation in forward]),
        "slot_of_weight": torch.stack([conv(relation, "weight").t() for relation in backward]),
        "slot_of_bias": torch.stack([conv(relation, "bias") for relation in backward]),
    }
    for name, relation in RELATIONS.items():
        if f"convs.{number}.convs.<{'___'.join(relation)}>.lin_l.weight" in state:
            layer[f"weight.{name}"] = conv(relation, "weight").t()
            layer[f"bias.{name}"] = conv(relation, "bias")
    return layer


def _read(path: Path) -> tuple[str, int, Mapping[str, Tensor]]:
    """Task, vector width and tensors; tensor data only, no code is run."""
    if not path.is_file():
        raise CheckpointError(f"{path}: no such file; expected the official release's best.pt")
    if path.stat().st_size > MAX_BYTES:
        raise CheckpointError(f"{path}: over {MAX_BYTES >> 20} MB; no official checkpoint is that large")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            names = list(file.keys())
            return (
                metadata.get("task", ""),
                int(metadata.get("embedding_dim", 0)),
                {name: file.get_tensor(name) for name in names},
            )
    except (SafetensorError, ValueError):
        pass
    try:
        payload = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what torch raises for bytes that are no checkpoint is not a closed list
        # Its advice is to switch the safety off, which must not reach the user.
        raise CheckpointError(
            f"{path}: not a file of tensors alone ({type(error).__name__}); it was not loaded"
        ) from None
    if not isinstance(payload, dict) or not isinstance(payload.get("model_state"), dict):
        raise CheckpointError(f"{path}: expected task, embedding_dim and model_state, as the official trainer writes")
    state = payload["model_state"]
    if not all(isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in state.items()):
        raise CheckpointError(f"{path}: model_state must map names to tensors")
    width = payload.get("embedding_dim")
    return str(payload.get("task")), width if isinstance(width, int) else 0, state
