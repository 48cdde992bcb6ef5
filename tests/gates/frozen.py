"""What must not change by accident: decisions, dumps of logs, and a small network's numbers, as computed today.

``python -m tests.gates.frozen`` writes the files beside this module and ``test_gates.py`` compares with them. A commit
that changes one on purpose says so and freezes again. Real rollouts are third-party data, so only digests of their
decisions and dumps are kept; everything else is made here.
"""

import gzip
import hashlib
import json
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.answers.answer_pairs import PAIRS
from tests.answers.meaning.meaning_pairs import EQUAL, UNEQUAL
from tests.gates.wordings import worded
from tests.shared_data import ROLLOUTS
from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import DEFAULT, contains_match
from tracerank.answers.exact import normalize_answer, normalize_excerpts, token_f1
from tracerank.answers.extraction import extract_answer, stated_confidence
from tracerank.answers.meaning.grouping import MEANING, answer_core, group_answers
from tracerank.answers.meaning.rightness import rightness
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools
from tracerank.votes.base import decide_stream

HERE = Path(__file__).parent
DECISIONS, DUMPS, ANSWERS = HERE / "decisions.npz", HERE / "dumps.json.gz", HERE / "answers.json"
CHAT_POOLS = HERE.parents[1] / "src" / "tracerank" / "demo_pools.jsonl.gz"
SDK_LOGS = HERE.parent / "readers" / "sdk_logs"
METHODS = {"default": "evidence", "majority": "majority", "majority-paper": "majority-paper"}
"""Name of the frozen arrays to the method."""
SETTINGS = ("webqa", "browsing")
WORLDS = {"world-webqa": ("webqa", 120, 8), "world-browsing": ("browsing", 40, 8)}
REAL = ("fireact", "hotpot_agent", "knowagent", "r1_searcher", "search_r1", "tts_simpleqa", "webdancer")


def golden_pools(setting: str) -> list[Pool]:
    """Twelve questions of the raw file that the official outputs were made from."""
    return read_pools(HERE / f"{setting}_raw.jsonl.gz")


def own_pools() -> dict[str, list[Pool]]:
    """Pools that are made here: two generated worlds, and raw logs of both settings."""
    worlds = {name: list(iter_world(PAPER[kind], count, 7, k)) for name, (kind, count, k) in WORLDS.items()}
    return worlds | {f"golden-{setting}": golden_pools(setting) for setting in SETTINGS}


def real_pools(folder: str) -> list[Pool]:
    """The rollouts of one folder of real agents, a pool a question."""
    files = [path for path in sorted((ROLLOUTS / folder).iterdir()) if not path.name.startswith("corpus")]
    return read_pools(files, on_problem=lambda problem: None)


def decisions(pools: Sequence[Pool], method: str) -> tuple[np.ndarray, np.ndarray]:
    """A digest of answer and rollout, and the confidence or rank score, of each pool's decision."""
    digests, confidences = [], []
    for _, decision in decide_stream(load_method(METHODS[method]), pools):
        said = json.dumps([decision.question_id, decision.answer, decision.sample_id], ensure_ascii=False)
        digests.append(int.from_bytes(hashlib.sha256(said.encode()).digest()[:4], "little"))
        confidences.append(np.nan if decision.certainty is None else decision.certainty)
    return np.array(digests, np.uint32), np.array(confidences, np.float32)


def dump(pools: Sequence[Pool]) -> list[dict[str, Any]]:
    """Pools in the canonical format, without the paths that they were read from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pools.jsonl"
        write_pools(path, pools)
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        for rollout in line.get("rollouts", ()):
            rollout.pop("source", None)
        line.pop("source", None)
        line.pop("agent", None)  # read in one place for all formats, which has its own test
    return lines


def dump_digest(pools: Sequence[Pool]) -> str:
    """One digest of all dumped pools."""
    return hashlib.sha256(json.dumps(dump(pools), sort_keys=True).encode()).hexdigest()[:16]


def sdk_layouts() -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """Each layout that an SDK wrote, and what puts it where it can be read."""
    for fixtures in (SDK_LOGS / "fixtures", SDK_LOGS / "second" / "fixtures"):
        for place in sorted(fixtures.glob("*/*")):
            if place.name == "expected.json":
                continue
            name = f"{fixtures.parent.name}/{place.relative_to(fixtures)}"
            yield name, lambda scratch, place=place: _unpacked(place, scratch)


def _unpacked(place: Path, scratch: Path) -> Path:
    if place.name.endswith(".sqlite.gz"):
        (scratch / "store.sqlite").write_bytes(gzip.decompress(place.read_bytes()))
        return scratch / "store.sqlite"
    if place.name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(place) as archive:
            archive.extractall(scratch, filter="data")
        return scratch
    return place


def read_layout(unpack: Callable[[Path], Path]) -> dict[str, Any]:
    """What is read of a layout: its pools, and how many problems were reported."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            pools = read_pools(unpack(Path(folder)), on_problem=lambda problem: problems.append(str(problem)))
        except (Exception, sqlite3.Error) as error:
            return {"error": type(error).__name__}
    return {"pools": dump(pools), "problems": len(problems)}


def sample_dumps() -> dict[str, Any]:
    """What is read of one record of every format."""
    from tests.readers.sample_records import SAMPLES

    found = {}
    for name, record in SAMPLES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "records.jsonl"
            path.write_text(json.dumps(record), encoding="utf-8")
            found[f"sample/{name}"] = {"pools": dump(read_pools(path, on_problem=lambda problem: None))}
    return found


def answer_sets() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Questions with the answers that are compared with each other."""
    yield from worded()
    for pair in PAIRS:
        yield pair.question, (pair.a, pair.b)
    for question, *pair in (*EQUAL, *UNEQUAL):
        yield question, tuple(pair)
    for pool in read_pools(CHAT_POOLS):
        yield pool.question.text, tuple(rollout.answer or "" for rollout in pool.rollouts)


def read_answers(question: str, answers: Sequence[str]) -> str:
    """A digest of all that is read of some answers: what each says, how alike they are, and their groups."""
    found: list[Any] = [group_answers(question, answers, level) for level in (DEFAULT, MEANING)]
    for answer in answers:
        core = answer_core(question, answer)
        found.append((core.start, core.end, abstains(answer, question), stated_confidence(answer)))
        found.append((str(extract_answer(answer)), normalize_answer(answer), normalize_excerpts(answer)))
        for other in answers[:4]:
            scores = rightness(question, answer, [other]), token_f1(answer, [other]), contains_match(answer, [other])
            found.append([round(score, 5) for score in scores])
    return hashlib.sha256(repr(found).encode()).hexdigest()[:8]


def freeze() -> None:
    """Write every file that the gates compare with."""
    arrays: dict[str, np.ndarray] = {}
    digests: dict[str, str] = {}
    sets = own_pools()
    for name in (*sets, *REAL):
        pools = sets.get(name) or real_pools(name)
        digests[name] = dump_digest(pools)
        for method in METHODS:
            arrays[f"{name}/{method}/digest"], arrays[f"{name}/{method}/confidence"] = decisions(pools, method)
    np.savez_compressed(DECISIONS, **arrays)
    layouts = {name: read_layout(unpack) for name, unpack in sdk_layouts()}
    frozen = {"digests": digests, "dumps": layouts | sample_dumps()}
    ANSWERS.write_text(json.dumps([read_answers(*asked) for asked in answer_sets()]), encoding="utf-8")
    with gzip.GzipFile(DUMPS, "wb", mtime=0) as file:
        file.write(json.dumps(frozen, sort_keys=True, ensure_ascii=False).encode())


if __name__ == "__main__":
    freeze()
