"""Files that documents say their reader has, made small, and the model behind the endpoints that they name."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.docs.blocks import ROOT
from tests.lab.shelves import RIVERS
from tests.mixed import MIXED, mixed_pools
from tests.model_server import Reply, called, said
from tests.readers.sample_records import SAMPLES
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools

ROLLOUTS = 4
"""Of a question; more than one, and few enough for seconds."""
QUESTION_FILE = (
    {"id": "1", "question": "Who charted the Velm River?", "answers": ["Ada Korn"]},
    {"id": "2", "question": "Where was Ada Korn from?", "answers": ["Tarrow"]},
    {"id": "3", "question": "When was the lighthouse of Tarrow built?", "answers": ["1802"]},
)


def _pools(path: Path, seed: int = 8, questions: int = 6) -> None:
    write_pools(path, generate_pools(questions, seed, ROLLOUTS))


def _labelled(path: Path) -> None:
    """Enough questions for a fit, few enough for seconds."""
    _pools(path, seed=7, questions=60)


def _lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _logs(folder: Path) -> None:
    folder.mkdir()
    for name in ("openai-chat", "search-r1", "anthropic"):
        _lines(folder / f"{name}.jsonl", [SAMPLES[name]] * 2)


def _network(folder: Path) -> None:
    """A tiny checkpoint of TRACE that nobody has trained."""
    import torch

    from tracerank.embedding.base import EncoderIdentity, HashEmbedder
    from tracerank.trace.checkpoint import Checkpoint, save_checkpoint
    from tracerank.trace.net import TraceNet
    from tracerank.trace.recipe import RECIPES, NetConfig

    torch.manual_seed(0)
    embedder = HashEmbedder(64)
    config = NetConfig(width=64, hidden=32, heads=4, feed_forward=64, layers=2)
    net = TraceNet(config, RECIPES["webqa"]).eval()
    save_checkpoint(Checkpoint(net, EncoderIdentity(embedder.name, embedder.width)), folder)


RIVER, REPLIES = "Which river is under the Kessel bridge?", ("Orn", "Sava", "the Orn")


def _parquet(path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path.mkdir()
    rows = [{"question": RIVER, "sample_id": number, "answer": reply} for number, reply in enumerate(REPLIES)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path / "1.parquet")


def _table(path: Path, heading: str) -> None:
    """Answers and nothing else."""
    rows = (f"{RIVER},{reply}" for reply in REPLIES)
    path.write_text("\n".join((heading, *rows)) + "\n", encoding="utf-8")


def _copy(source: str, path: Path) -> None:
    """What the repository has beside the page."""
    shutil.copy(ROOT / source, path)


Maker = Callable[[Path], None]
MAKERS: dict[str, Maker] = {
    "labelled.jsonl": _labelled,
    "new-pools.jsonl": _pools,
    "mixed.jsonl": lambda path: write_pools(path, mixed_pools(20, MIXED)),
    "logs.jsonl": _pools,
    "base.jsonl": lambda path: _pools(path, questions=2),
    "sft.jsonl": lambda path: _pools(path, seed=9, questions=2),
    "rollouts.jsonl": _pools,
    "run1.jsonl.gz": _pools,
    "run2.jsonl.gz": lambda path: _pools(path, seed=9),
    "docs.jsonl": lambda path: _lines(path, RIVERS),
    "questions.jsonl": lambda path: _lines(path, QUESTION_FILE),
    "answers.csv": lambda path: _table(path, "question,answer"),
    "table.csv": lambda path: _table(path, "prompt,reply"),
    "parquet": _parquet,
    "log.jsonl": lambda path: _lines(path, [{"prompt": RIVER, "data": {"reply": reply}} for reply in REPLIES]),
    "logs": _logs,
    "kessel_reports.jsonl": lambda path: _copy("docs/guides/kessel_reports.jsonl", path),
    "checkpoints/webqa": _network,
}
"""How each file or folder is made, by the name that documents use for it."""
GIVEN: dict[str, tuple[str, ...]] = {
    "README.md": ("labelled.jsonl", "logs", "table.csv"),
    "docs/quickstart.md": ("answers.csv",),
    "docs/concepts.md": ("labelled.jsonl",),
    "docs/guides/logs.md": ("logs", "answers.csv", "log.jsonl", "rollouts.jsonl", "run1.jsonl.gz", "run2.jsonl.gz"),
    "docs/guides/evaluate.md": ("labelled.jsonl", "mixed.jsonl", "new-pools.jsonl", "logs.jsonl"),
    "docs/guides/unsure.md": ("labelled.jsonl",),
    "docs/guides/reports.md": ("kessel_reports.jsonl",),
    "docs/guides/serve.md": ("labelled.jsonl",),
    "docs/guides/extend.md": ("parquet", "docs.jsonl", "questions.jsonl"),
    "docs/reference/python.md": ("labelled.jsonl",),
    "docs/paper.md": ("base.jsonl", "sft.jsonl", "checkpoints/webqa"),
}
"""Files that the reader of a page has."""


class Shelf:
    """Makes each thing once and lays copies where they are wanted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def lay(self, names: Iterable[str], folder: Path) -> None:
        """Copies of these below the folder."""
        for name in names:
            kept, wanted = self._folder / name.replace("/", "-"), folder / name
            if not kept.exists():
                MAKERS[name](kept)
            wanted.parent.mkdir(parents=True, exist_ok=True)
            if kept.is_dir():
                shutil.copytree(kept, wanted)
            else:
                shutil.copy(kept, wanted)


_WANTED = {
    "Verdict: CORRECT": "Verdict: CORRECT",
    "Confidence: N": "Confidence: 80",
    "Reply with one word: YES": "YES",
    "SAME or DIFFERENT": "SAME",
    "<report>": "<report>It found a town.</report>",
}
"""What a prompt asks for, and what a model that follows it says."""


def model(request: dict[str, Any]) -> Reply:
    """A chat model that does what each of our prompts wants of it, in the fewest replies."""
    messages = request["messages"]
    offered = [tool["function"]["name"] for tool in request.get("tools") or ()]
    is_first = not any(message["role"] == "assistant" for message in messages)
    if "finish" in offered:
        return _call("finish", {"solution": "<answer>Tarrow</answer>", "reason": "all say so"})
    for name in ("search", "browser_search"):
        if name in offered and is_first:
            return _call(name, {"query": "lighthouse of Tarrow"})
    text = json.dumps(messages, ensure_ascii=False)
    if is_first and "<search>" in text:
        return said("<search>lighthouse of Tarrow</search>")
    return said(next((reply for wish, reply in _WANTED.items() if wish in text), "<answer>Tarrow</answer>"))


def _call(name: str, arguments: dict[str, Any]) -> Reply:
    return called({"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}})
