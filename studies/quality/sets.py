"""The labelled pools that methods are compared on, none of which anything that ships was fitted on.

Real rollouts and their judgements lie in ``../shared`` (or ``TRACERANK_SHARED``); sets whose data is missing are left
out.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from studies import ROOT
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.question_sets import SETS, rows_of, split_of
from studies.shipped_weights.real_pools import MAY_TRAIN, ROLLOUTS, folded, real_pools, tested_questions
from tracerank.evaluation.labels import MEANING, labelled
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA
from tracerank.readers import read_pools

UNSEEN = {"search_r1": (2,), "hotpot_agent": (2, 3, 4, 8), "hotpot_agent+": (2, 3, 4, 8)}
"""Agents that nothing was fitted on, with the K that their pools allow."""
KNOWN = {"r1_searcher": (2,), "fireact": (2, 3), "knowagent": (2,)}
"""Agents of the fit; only test questions are measured."""
CHAT_POOLS = ROOT / "src" / "tracerank" / "demo_pools.jsonl.gz"
"""100 questions of the almanac, 4 rollouts each of our own agent with a 1.5B model."""
WORLD_QUESTIONS, WORLD_SEED = 500, 77

Load = Callable[[Path], list[Pool]]
"""From a cache folder to labelled pools."""


def real(name: str, folder: Path) -> list[Pool]:
    """Pools of a real agent on questions that nothing was fitted on, labelled by the judgements."""
    judgements, known = Judgements.read(), fitted_questions()
    ks = {**UNSEEN, **KNOWN}[name]
    sized = (pool for pool in real_pools(name) if len(pool) >= ks[-1])
    return [judgements.labelled(pool) for pool in sized if folded(pool.question.text) not in known]


@cache
def fitted_questions() -> frozenset[str]:
    """Questions outside the test split that the selector, or the kinds of answers it expects, were fitted on."""
    questions = [pool.question.text for name in MAY_TRAIN for pool in real_pools(name)]
    questions += [row["question"] for name in SETS for row in rows_of(f"{name}_questions")]
    tested = tested_questions()
    outside = (folded(text) for text in questions if split_of(text) != "test")
    return frozenset(text for text in outside if text not in tested)


def chat(folder: Path) -> list[Pool]:
    """Pools of our agent with a small language model, labelled by ``is_right``."""
    return [labelled(pool, MEANING) for pool in read_pools(CHAT_POOLS)]


def world(folder: Path) -> list[Pool]:
    """Generated pools with their truth."""
    return list(iter_world(PRESETS["paper"][WEBQA], WORLD_QUESTIONS, WORLD_SEED))


def sets() -> Iterator[tuple[str, Load, tuple[int, ...]]]:
    """Name, loader and budgets of every set whose data is here."""
    if ROLLOUTS.is_dir():
        for name, ks in {**UNSEEN, **KNOWN}.items():
            yield name if name in UNSEEN else f"{name}, test questions", partial(real, name), ks
    yield "chat agent, 1.5B", chat, (2, 4)
    yield "world", world, (4, 16)
