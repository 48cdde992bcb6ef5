"""Labelled pools that may be fitted on, cut to K, as feature tables: ``python -m studies.quality.ground CACHE``.

Each family of agents is a file in the cache, made once; ``--again`` makes them again, which takes a minute. Nothing of
evaluation-only agents or of test questions is here. Whatever ships is fitted on these tables, and every choice between
designs is made with one family left out of the fit at a time.
"""

import argparse
import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from zlib import crc32

import numpy as np
import orjson
from numpy.typing import NDArray

import tracerank as tr
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.question_sets import split_of
from studies.shipped_weights.real_pools import MAY_TRAIN, ROLLOUTS, folded, real_pools, tested_questions
from tracerank.evidence.fit import LabelledTable, labelled_table
from tracerank.evidence.table import COLUMNS, EvidenceTable
from tracerank.evidence.text import TextLines
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import WEBQA
from tracerank.votes.voting import ANSWERED

KS = (2, 3, 4, 8, 16)
TTS, WORLD = "tts_simpleqa", "world"
EVIDENT = (*MAY_TRAIN, WORLD)
"""Families that the selector is fitted on: those with evidence."""
FAMILIES = (*MAY_TRAIN, TTS, WORLD)
DRAWS, GENERATED, SEED = 2, 600, 32
"""Random subsets of a pool at each K; questions of the world, and its seed."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One pool of K rollouts."""

    question: str
    k: int
    agent: str
    """The model that all rollouts are of; empty: they are mixed, or unknown."""
    kept: int
    """Rollouts with an answer."""
    has_evidence: bool
    table: LabelledTable

    @property
    def has_answers(self) -> bool:
        return len(self.table.right) > 0


def ground(folder: Path, families: Iterable[str] = FAMILIES, again: bool = False) -> dict[str, list[Cut]]:
    """The cuts of each family, from the cache or made."""
    folder.mkdir(parents=True, exist_ok=True)
    return {family: kept_cuts(folder, family, again) for family in families}


def kept_cuts(folder: Path, family: str, again: bool = False) -> list[Cut]:
    file = folder / f"{family.replace(' ', '-')}.npz"
    if again or not file.exists():
        write_cuts(file, [cut for pool in pools_of(family) for cut in cuts_of(family, pool)])
    return read_cuts(file)


def pools_of(family: str) -> Iterable[tr.Pool]:
    """The labelled pools of a family, outside the test questions."""
    tested = tested_questions()
    if family in (*MAY_TRAIN, TTS):
        judge = (lambda pool: pool) if family == TTS else Judgements.read().labelled
        usable = (pool for pool in real_pools(family) if len(pool) > 1 and folded(pool.question.text) not in tested)
        return (judge(pool) for pool in usable if split_of(pool.question.text) != "test")
    return iter_world(PRESETS["paper"][WEBQA], GENERATED, SEED)


def cuts_of(family: str, pool: tr.Pool) -> Iterator[Cut]:
    """Random subsets at each K; where models are known, also those of one model."""
    rng, lines = Random(crc32(f"{family}|{pool.question.text}".encode())), TextLines()
    drawn = [
        ("", rng.sample(pool.rollouts, k)) for k in KS if k <= len(pool) for _ in range(DRAWS if k < len(pool) else 1)
    ]
    if family == TTS:
        models = tts_models()[pool.question.text]
        for name in sorted(set(models)):
            own = [one for one, model in zip(pool.rollouts, models, strict=True) if model == name]
            drawn += [(name, own[:k]) for k in (2, 3, 4) if k <= len(own)]
    for agent, rollouts in drawn:
        found = labelled_table(pool, rollouts, lines)
        if found is None:  # every rollout abstains
            empty = EvidenceTable(np.zeros((0, len(COLUMNS)), np.float32), np.zeros(0, np.int64), ())
            found = LabelledTable(pool.question.text, empty, np.zeros(0))
        kept = sum(ANSWERED.reason_to_drop(one) is None for one in rollouts)
        seen = any(one.has_evidence for one in rollouts)
        yield Cut(pool.question.text, len(rollouts), agent, kept, seen, found)


@cache
def tts_models() -> Mapping[str, tuple[str, ...]]:
    """Question to the model of each of its rollouts, whatever effort it made."""
    found: dict[str, list[str]] = defaultdict(list)
    with gzip.open(ROLLOUTS / TTS / "answers.jsonl.gz") as lines:
        for row in map(orjson.loads, lines):
            found[row["question"]].append(row["model"].partition("_")[0])
    return {question: tuple(models) for question, models in found.items()}


def write_cuts(file: Path, cuts: Sequence[Cut]) -> None:
    tables = [cut.table for cut in cuts]
    np.savez(
        file,
        question=np.array([cut.question for cut in cuts]),
        k=np.array([cut.k for cut in cuts]),
        agent=np.array([cut.agent for cut in cuts]),
        kept=np.array([cut.kept for cut in cuts]),
        has_evidence=np.array([cut.has_evidence for cut in cuts]),
        offsets=np.cumsum([0, *(len(table.right) for table in tables)]),
        values=np.concatenate([table.table.values for table in tables]),
        votes=np.concatenate([table.table.votes for table in tables]),
        right=np.concatenate([table.right for table in tables]),
    )


def read_cuts(file: Path) -> list[Cut]:
    with np.load(file) as arrays:
        found: dict[str, NDArray[np.generic]] = {name: arrays[name] for name in arrays.files}
    names = ("question", "k", "agent", "kept", "has_evidence")
    cuts = []
    for index, (question, k, agent, kept, seen) in enumerate(
        zip(*(found[name].tolist() for name in names), strict=True)
    ):
        rows = slice(*found["offsets"][index : index + 2].tolist())
        table = EvidenceTable(found["values"][rows], found["votes"][rows], ())
        cuts.append(Cut(question, k, agent, kept, seen, LabelledTable(question, table, found["right"][rows])))
    return cuts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.ground", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for indexes and tables")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="make these alone")
    parser.add_argument("--again", action="store_true", help="make existing tables again")
    chosen = parser.parse_args(arguments)
    for family, cuts in ground(chosen.cache, chosen.families or FAMILIES, chosen.again).items():
        print(f"{family}: {len(cuts):,} pools of {len({cut.question for cut in cuts}):,} questions")


if __name__ == "__main__":
    main()
