"""Official checkpoints as ours: every tensor lands where it belongs, and nothing in the file is run."""

import os
import pickle
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor

from tracerank.errors import CheckpointError
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.net import RelationLayer, TraceNet
from tracerank.trace.official import TASKS, load_official, translate
from tracerank.trace.recipe import OFFICIAL_RECIPES, NetConfig

WIDTH, HIDDEN, LAYERS = 8, 256, 4

CONVOLUTIONS = {
    WEBQA: [
        "query___starts___subquery",
        "subquery___next___subquery",
        *(f"subquery___rank{rank}___chunk_occurrence" for rank in (1, 2, 3)),
        *(f"chunk_occurrence___rank{rank}_of___subquery" for rank in (1, 2, 3)),
        "chunk_occurrence___same_content_intra_trace___chunk_occurrence",
        "chunk_occurrence___same_content_cross_trace___chunk_occurrence",
    ],
    BROWSING: [
        "evidence___belongs_to___document",
        "document___contains___evidence",
        "subquery___opens___evidence",
        "evidence___opened_by___subquery",
        "subquery___finds___evidence",
        "evidence___found_by___subquery",
        "subquery___next___subquery",
        "subquery___previous___subquery",
    ],
}
ENCODERS = {WEBQA: ("query", "answer", "subquery", "chunk"), BROWSING: ("query", "response", "subquery", "evidence")}
NORMS = {WEBQA: ("subquery", "chunk_occurrence"), BROWSING: ("subquery", "evidence", "document")}
TASK_OF = {setting: task for task, setting in TASKS.items()}


@cache
def official(setting: str) -> Mapping[str, Tensor]:
    """A state as the official trainer writes it, with random values."""
    answer = ENCODERS[setting][1]
    shapes: dict[str, tuple[int, ...]] = {"logit_scale": ()}

    def linear(name: str, rows: int, columns: int | None) -> None:
        shapes[f"{name}.weight"] = (rows,) if columns is None else (rows, columns)
        shapes[f"{name}.bias"] = (rows,)

    for name in ENCODERS[setting]:
        linear(f"{name}_encoder.0", HIDDEN, WIDTH)
        linear(f"{name}_encoder.1", HIDDEN, None)
    for name in ("query_readout", f"{answer}_readout"):
        linear(name, HIDDEN, HIDDEN)
    for name in ("query", "key", "value", "output"):
        shapes[f"answer_qformer.{name}_projection.weight"] = (HIDDEN, HIDDEN)
    shapes["answer_qformer.context_type"] = (2, HIDDEN)
    for name in ("attention_norm", "output_norm"):
        linear(f"answer_qformer.{name}", HIDDEN, None)
    linear("answer_qformer.feed_forward.0", 1024, HIDDEN)
    linear("answer_qformer.feed_forward.3", HIDDEN, 1024)
    for number in range(LAYERS):
        for relation in CONVOLUTIONS[setting]:
            linear(f"convs.{number}.convs.<{relation}>.lin_l", HIDDEN, HIDDEN)
        for name in NORMS[setting]:
            linear(f"norms.{number}.{name}", HIDDEN, None)
    if setting == WEBQA:
        shapes["answer_occurrence_weight"] = (HIDDEN, 2)
    else:
        shapes |= {"vote_projection.weight": (HIDDEN, 2), "orphan_state": (1, HIDDEN), "document_state": (1, HIDDEN)}
    torch.manual_seed(0)
    return {name: torch.randn(shape) for name, shape in shapes.items()}


def written(path: Path, setting: str = WEBQA, **changes: object) -> Path:
    torch.save(
        {"task": TASK_OF[setting], "epoch": 3, "embedding_dim": WIDTH, "model_state": dict(official(setting))}
        | changes,
        path,
    )
    return path


def refusal(path: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_official(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    assert "weights_only" not in message, "torch's advice to switch the safety off must not be passed on"
    return message


@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_every_official_value_is_used_once_and_every_one_of_ours_is_set(setting: str) -> None:
    state, counted, begin = official(setting), {}, 1
    for name, tensor in state.items():
        counted[name] = torch.arange(begin, begin + tensor.numel(), dtype=torch.float64).view_as(tensor)
        begin += tensor.numel()
    recipe = OFFICIAL_RECIPES[setting]
    ours = translate(counted, setting, recipe, LAYERS)
    values = torch.cat([tensor.flatten() for tensor in ours.values()]).sort().values
    assert torch.equal(values, torch.arange(1, begin, dtype=torch.float64))
    wanted = TraceNet(NetConfig(WIDTH), recipe).state_dict()
    assert {name: tensor.shape for name, tensor in ours.items()} == {name: t.shape for name, t in wanted.items()}


@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_a_checkpoint_loads_with_the_official_recipe_ready_to_score(tmp_path: Path, setting: str) -> None:
    net = load_official(written(tmp_path / "best.pt", setting))
    assert net.recipe == OFFICIAL_RECIPES[setting]
    assert net.config == NetConfig(WIDTH)
    assert not net.training
    assert torch.equal(net.query_encoder.project.weight, official(setting)["query_encoder.0.weight"])
    assert torch.equal(net.log_scale, official(setting)["logit_scale"])


def test_relation_weights_are_transposed_because_messages_are_rows(tmp_path: Path) -> None:
    net, state = load_official(written(tmp_path / "best.pt")), official(WEBQA)
    layer = net.layers[2]
    assert isinstance(layer, RelationLayer)

    def theirs(relation: str, part: str) -> Tensor:
        return state[f"convs.2.convs.<{relation}>.lin_l.{part}"]

    assert torch.equal(layer.weight["next"], theirs("subquery___next___subquery", "weight").t())
    assert torch.equal(layer.slot_weight[:, 1], theirs("subquery___rank2___chunk_occurrence", "weight").t())
    assert torch.equal(layer.slot_bias[1], theirs("subquery___rank2___chunk_occurrence", "bias"))
    assert torch.equal(layer.slot_of_weight[2], theirs("chunk_occurrence___rank3_of___subquery", "weight").t())
    assert torch.equal(layer.slot_of_bias[2], theirs("chunk_occurrence___rank3_of___subquery", "bias"))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "best.pt")
    assert "no such file" in refusal(tmp_path)


class Mischief:
    """An object whose unpickling makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("is_plain", [True, False], ids=["plain pickle", "torch archive"])
def test_a_pickle_with_code_is_refused_and_its_code_is_not_run(tmp_path: Path, is_plain: bool) -> None:
    made, path = tmp_path / "made by the pickle", tmp_path / "best.pt"
    payload = {"task": "webqa", "embedding_dim": WIDTH, "model_state": {"a": Mischief(made)}}
    if is_plain:
        path.write_bytes(pickle.dumps(payload, protocol=2))
    else:
        torch.save(payload, path)
    refusal(path)
    assert not made.exists()
    # The file is live: without the precaution it would have run.
    pickle.loads(pickle.dumps(Mischief(made)))
    assert made.exists()


@pytest.mark.parametrize("content", [b"", b"\x80", b"hello, this is no checkpoint\n", b"PK\x03\x04" + bytes(60)])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "best.pt"
    path.write_bytes(content)
    refusal(path)


def test_damage_anywhere_ends_in_one_line(tmp_path: Path) -> None:
    path, rng = tmp_path / "best.pt", Random(0)
    torch.save({"task": "webqa", "embedding_dim": WIDTH, "model_state": {"a": torch.zeros(3)}}, path)
    whole = path.read_bytes()
    for _ in range(150):
        damaged = bytearray(whole[: rng.randrange(1, len(whole) + 1)])
        for _ in range(rng.randrange(6)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        refusal(path)
    opcodes = b"]}(.qRcbiou0123\x8a\x94h\x85\x86tseXK"
    for _ in range(150):
        path.write_bytes(b"\x80\x02" + bytes(rng.choices(opcodes, k=rng.randrange(20))))
        refusal(path)


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param([1, 2], id="a list"),
        pytest.param({"task": "webqa", "embedding_dim": 8}, id="no state"),
        pytest.param({"task": "webqa", "embedding_dim": 8, "model_state": [1]}, id="a state that is a list"),
        pytest.param({"task": "webqa", "embedding_dim": 8, "model_state": {"a": 1}}, id="a state without tensors"),
        pytest.param({"task": "chess", "embedding_dim": 8, "model_state": {}}, id="another task"),
        pytest.param({"embedding_dim": 8, "model_state": {}}, id="no task"),
    ],
)
def test_a_foreign_payload_is_refused(tmp_path: Path, payload: Any) -> None:
    path = tmp_path / "best.pt"
    torch.save(payload, path)
    refusal(path)


@pytest.mark.parametrize("width", [None, 0, -8, "wide", [8], float("inf"), 2 * WIDTH])
def test_a_width_that_is_none_or_another_is_refused(tmp_path: Path, width: object) -> None:
    refusal(written(tmp_path / "best.pt", embedding_dim=width))


@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_a_missing_tensor_is_named_whichever_it_is(tmp_path: Path, setting: str) -> None:
    recipe, state = OFFICIAL_RECIPES[setting], official(setting)
    net = TraceNet(NetConfig(WIDTH), recipe)
    for name in state:
        rest = {other: tensor for other, tensor in state.items() if other != name}
        with pytest.raises((KeyError, RuntimeError)):
            net.load_state_dict(translate(rest, setting, recipe, LAYERS))
    rest = {name: tensor for name, tensor in state.items() if name != "query_readout.bias"}
    assert "'query_readout.bias' is missing" in refusal(written(tmp_path / "best.pt", setting, model_state=rest))


@pytest.mark.parametrize(
    "name",
    ["query_readout.weight", "convs.0.convs.<subquery___rank1___chunk_occurrence>.lin_l.weight", "logit_scale"],
)
def test_a_tensor_of_another_shape_is_refused(tmp_path: Path, name: str) -> None:
    state = dict(official(WEBQA)) | {name: torch.zeros(3, 5)}
    assert "does not fit" in refusal(written(tmp_path / "best.pt", model_state=state))


def test_the_state_of_the_other_setting_is_refused(tmp_path: Path) -> None:
    refusal(written(tmp_path / "best.pt", WEBQA, model_state=dict(official(BROWSING))))
