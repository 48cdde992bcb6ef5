"""A description in which any value is another: one line that says so, or a selector that works; never a traceback."""

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import pool
from tracerank.errors import TraceRankError
from tracerank.methods import load_selector
from tracerank.votes.folders import SHIPPED, folder_of

POOL = pool("Paris", "Rome", "paris")
VALUES = ("null", "-1", "1e400", '"x"', "[]", "[1]", "{}", "NaN", "1" + "0" * 30)
GONE = "@gone"


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a description stand; what training tells about itself is nobody's input."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*place, key)
        if key != "training":
            yield from places(item, (*place, key))


def changed(about: dict[str, Any], place: tuple[Any, ...], value: str) -> str:
    other = copy.deepcopy(about)
    holder: Any = other
    for key in place[:-1]:
        holder = holder[key]
    if value == GONE:
        del holder[place[-1]]
        return json.dumps(other)
    holder[place[-1]] = "@"
    return json.dumps(other).replace('"@"', value)


def tried(folder: Path, name: str) -> list[tuple[tuple[Any, ...], str, str]]:
    """What went wrong otherwise than in one line of ours."""
    about = json.loads((folder / name).read_text())
    wrong = []
    for place in places(about):
        for value in (*VALUES, GONE):
            (folder / name).write_text(changed(about, place, value))
            try:
                load_selector(folder).decide(POOL)
            except TraceRankError as error:
                if "\n" in str(error):
                    wrong.append((place, value, "several lines"))
            except Exception as error:
                wrong.append((place, value, repr(error)))
    return wrong


def test_a_shipped_selector_whose_description_is_damaged(tmp_path: Path) -> None:
    shutil.copytree(folder_of(SHIPPED), tmp_path / "mine")
    assert tried(tmp_path / "mine", "selector.json") == []


def test_a_network_whose_description_is_damaged(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from tracerank.embedding.base import EncoderIdentity, HashEmbedder
    from tracerank.trace.checkpoint import Checkpoint, save_checkpoint
    from tracerank.trace.graphs.schema import RECIPES
    from tracerank.trace.net import NetConfig, TraceNet

    torch.manual_seed(0)
    net = TraceNet(NetConfig(width=8, hidden=8, heads=2, feed_forward=8, layers=1), RECIPES["webqa"]).eval()
    save_checkpoint(Checkpoint(net, EncoderIdentity(HashEmbedder(8).name, 8)), tmp_path / "mine")
    assert tried(tmp_path / "mine", "config.json") == []
