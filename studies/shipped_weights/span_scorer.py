"""Fit and measure the span scorer: ``python -m studies.shipped_weights.span_scorer CACHE STEP...``.

``heads`` and ``rest`` write the package's weights, fitted on all train questions, and for each fold a scorer under
CACHE that has seen no question of its fold; ``pools`` makes pools of the train questions with these; ``valid`` and
``report`` measure the agents on valid and test questions, ``speed`` their rollouts a second.
"""

import gzip
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import orjson
import torch
from rich.console import Console

from studies.shipped_weights.lexical_context import fit_context, gather
from studies.shipped_weights.lexical_data import SETS, Example, QuestionSets
from studies.shipped_weights.lexical_heads import fit_heads, listing_of
from studies.shipped_weights.lexical_tables import word_tables
from studies.shipped_weights.lexical_weights import save_weights
from tracerank.evaluation import evaluate as evaluation
from tracerank.evaluation import scores
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.lexical import span_scorer as reader_module
from tracerank.lab.lexical.analysis import CROSS_BUCKETS, WordTables
from tracerank.lab.lexical.answering import NAME_FEATURES, TRUST_FEATURES
from tracerank.lab.lexical.closed import EITHER_OR_FEATURES, YES_NO_FEATURES
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.lexical.presets import BASE, PRESETS, Preset
from tracerank.lab.lexical.questions import QuestionKind, parse_question
from tracerank.lab.lexical.span_scorer import (
    DENSE,
    RARITY_STEPS,
    SHIPPED,
    VECTOR_STEPS,
    SpanScorer,
    SpanScorerWeights,
    load_weights,
)
from tracerank.lab.lexical.spans import hash_of
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.voting import MajorityVote

FOLDS = 4
PAPER_VOTE = MajorityVote(ExactGroups())
SHIPPED_AT = Path(reader_module.__file__).with_name(SHIPPED)


def fold_of(example: Example) -> int:
    """The fold whose scorer has not seen this question, nor the same one in other spelling."""
    return hash_of(" ".join(example.question.text.lower().split())) % FOLDS


def fold_scorer(cache: Path, fold: int) -> SpanScorer:
    """For making pools of train questions."""
    return SpanScorer(load_weights(cache / f"fold-{fold}.safetensors"))


def fit_all_heads(sets: QuestionSets, cache: Path, console: Console) -> None:
    """A scorer that has seen all train questions, and one for each fold that has not seen it."""
    blank = _blank(*_tables(sets, cache))
    train = sets.of("train")
    scorer = SpanScorer(blank)
    listings = [listing_of(example, sets.corpus, scorer) for example in train]
    console.print(f"features of {len(train)} questions")
    for fold in (None, *range(FOLDS)):
        chosen = [listing for example, listing in zip(train, listings, strict=True) if fold_of(example) != fold]
        cross, layers = fit_heads([listing for listing in chosen if listing is not None]).arrays()
        save_weights(replace(blank, cross=cross, layers=layers), cache / f"heads-{fold}.safetensors")
        console.print(f"heads without fold {fold}")


def fit_rest(sets: QuestionSets, cache: Path, console: Console) -> None:
    """What depends on rollouts, from walks of the fold scorers; then the final files."""
    train = sets.of("train")
    scorers = [SpanScorer(load_weights(cache / f"heads-{fold}.safetensors")) for fold in range(FOLDS)]
    cases = gather(train, {example.question.id: scorers[fold_of(example)] for example in train}, sets.corpus)
    console.print(f"walks: {len(cases.open)} open, {len(cases.yes_no)} yes/no, {len(cases.either_or)} either-or")
    for fold in (None, *range(FOLDS)):
        path = SHIPPED_AT if fold is None else cache / f"fold-{fold}.safetensors"
        unseen = {example.question.id for example in train if fold_of(example) == fold}
        heads = load_weights(cache / f"heads-{fold}.safetensors")
        save_weights(fit_context(cases.without(unseen)).joined(heads), path)
    console.print(f"wrote {SHIPPED_AT.stat().st_size / 1e6:.2f} MB")


def _tables(sets: QuestionSets, cache: Path) -> tuple[np.ndarray, np.ndarray]:
    path = cache / "tables.npz"
    if not path.exists():
        rarity, vectors = word_tables(sets.passages)
        np.savez(path, rarity=rarity, vectors=vectors)
    with np.load(path) as saved:
        return saved["rarity"], saved["vectors"]


def _blank(rarity: np.ndarray, vectors: np.ndarray) -> SpanScorerWeights:
    """Tables as they will be saved, and zeros."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float32)

    return SpanScorerWeights(
        tables=WordTables(_stepped(rarity, RARITY_STEPS), _stepped(vectors, VECTOR_STEPS)),
        cross=zeros(CROSS_BUCKETS, 2),
        layers=((zeros(DENSE, 2), zeros(2)),),
        trust=((zeros(TRUST_FEATURES, 1), zeros(1)),),
        names=zeros(NAME_FEATURES),
        yes_no=zeros(YES_NO_FEATURES),
        either_or=zeros(EITHER_OR_FEATURES),
    )


def _stepped(values: np.ndarray, steps: float) -> np.ndarray:
    return (np.rint(values * steps) / steps).astype(np.float32)


def write_train_pools(sets: QuestionSets, cache: Path, preset: Preset = BASE) -> None:
    """Pools of the train questions, each by the scorer that has not seen it, for training selectors."""
    policies = [LexicalPolicy(sets.corpus, preset, fold_scorer(cache, fold)) for fold in range(FOLDS)]
    with gzip.open(cache / f"train-{preset.name}.jsonl.gz", "wb", compresslevel=3) as file:
        for example in sets.of("train"):
            pool = policies[fold_of(example)].pool(example.question)
            for rollout in pool.rollouts:
                file.write(orjson.dumps(rollout_to_record(pool.question, rollout)) + b"\n")


def speed(sets: QuestionSets, console: Console, questions: int = 240) -> None:
    """Rollouts a second by the clock, in one process and in two; opening the index is not counted."""
    chosen = [example.question for example in Random(3).sample(sets.of("test"), questions)]
    for preset in PRESETS.values():
        rates = []
        for processes in (1, 2):
            with ProcessPoolExecutor(processes, initializer=_open, initargs=(sets.corpus, preset)) as workers:
                list(workers.map(_answers, chosen[:8]))
                began = time.perf_counter()
                made = sum(workers.map(_answers, chosen[8:], chunksize=4))
                rates.append(made / (time.perf_counter() - began))
        console.print(f"{preset.name}: {rates[0]:.0f} rollouts/s in one process, {rates[1]:.0f} in two")


_policy: LexicalPolicy | None = None


def _open(corpus: Corpus, preset: Preset) -> None:
    global _policy
    _policy = LexicalPolicy(corpus, preset)


def _answers(question: Question) -> int:
    assert _policy is not None
    return len(_policy.pool(question))


def report(sets: QuestionSets, console: Console, split: str = "test") -> None:
    """Accuracy of one rollout, the vote and the oracle for each preset, and the rollouts a second of one process."""
    examples = sets.of(split)
    scorer = SpanScorer(load_weights())
    for preset in PRESETS.values():
        policy = LexicalPolicy(sets.corpus, preset, scorer)
        began = time.process_time()
        pools = list(policy.pools(example.question for example in examples))
        seconds = time.process_time() - began
        console.print(f"[b]{preset.name}[/b] {len(pools) * PAPER_K / seconds:.0f} rollouts/s of one core")
        for label, chosen in _groups(pools):
            if chosen:
                records = evaluation.evaluate([PAPER_VOTE], chosen, [PAPER_K], has_means=True)
                figures = " ".join(f"{row.method} {100 * (row.accuracy or 0):5.1f}" for row in scores.fold(records))
                console.print(f"  {label:10s} n={len(chosen):5d} {figures}", highlight=False)


def _groups(pools: list[Pool]) -> list[tuple[str, list[Pool]]]:
    kinds = {pool.question.id: parse_question(pool.question.text).kind for pool in pools}
    return [
        *((name, [pool for pool in pools if pool.question.dataset == name]) for name in SETS),
        *((kind.value, [pool for pool in pools if kinds[pool.question.id] is kind]) for kind in QuestionKind),
        ("all", pools),
    ]


def main() -> None:
    torch.set_num_threads(1)
    cache, *steps = sys.argv[1:]
    console = Console(width=160)
    sets = QuestionSets(Path(cache))
    if "heads" in steps:
        fit_all_heads(sets, Path(cache), console)
    if "rest" in steps:
        fit_rest(sets, Path(cache), console)
    if "pools" in steps:
        write_train_pools(sets, Path(cache))
    if "speed" in steps:
        speed(sets, console)
    if "valid" in steps:
        report(sets, console, "valid")
    if "report" in steps:
        report(sets, console)


if __name__ == "__main__":
    main()
