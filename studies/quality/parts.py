"""The parts of docs/quality.md: each settles one set of pools and makes the tables about it, section by section."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import tracerank as tr
from studies.quality.figures import STRONGEST, Settled, View
from studies.quality.methods import (
    ABSTENTIONS_OUT,
    MAJORITY,
    OVER_ALL,
    PAPER,
    PLUS,
    SHIPPED,
    SHIPPED_BROWSING,
    VOTES,
    unfitted,
)
from studies.quality.pools import QualityPools
from studies.quality.tables import (
    Column,
    Gain,
    Pair,
    columns_of,
    gain_rows,
    gains_of,
    head,
    method_rows,
    oracle_row,
    table,
)
from studies.shipped_weights.lexical_data import DATA, SETS
from studies.shipped_weights.real_pools import EVALUATION_ONLY, LEXICAL, MAY_TRAIN, ROLLOUTS
from studies.shipped_weights.wordy import wordy
from tracerank.evaluation.labels import CONTAINS, EM, GIVEN
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.lexical.presets import PRESETS as LEXICAL_PRESETS
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.pool import PAPER_BUDGETS
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.votes.selector import BROWSING as BROWSING_SELECTOR
from tracerank.votes.selector import load_selector

RULES = {EM: "exact match", CONTAINS: "a reference stands in the answer"}
REAL, TRANSFER, WORDY = "Real agents", "Transfer across agents", "Real agents, half of the answers in longer forms"
WORDY_RULES = {**RULES, GIVEN: "exact match before that"}
"""A sentence that repeats the question may hold a reference by chance, so what an answer was counts, too."""
LEXICAL_AGENTS, BY_SET = "Agents without a language model, test questions", ", set by set"
WORLD = "The generated world"
SECTIONS = (
    *(f"{title}, {rule}" for title in (REAL, TRANSFER) for rule in RULES.values()),
    *(f"{WORDY}, {rule}" for rule in WORDY_RULES.values()),
    *(f"{LEXICAL_AGENTS}, {rule}" for rule in RULES.values()),
    f"{LEXICAL_AGENTS}, {RULES[EM]}{BY_SET}",
    WORLD,
)
"""In the order of the document."""

TRANSFER_BUDGETS = (2, 3, 4, 8)
WORDY_SHARE, WORDY_SETS = 0.5, ("hotpot_agent", "hotpot_agent+", "search_r1")
JUDGED_SEED = 31
"""Of the generated world."""
OVER_MAJORITY: tuple[Pair, ...] = ((SHIPPED, MAJORITY), (PLUS, MAJORITY), (PAPER, MAJORITY))


@dataclass(frozen=True, slots=True)
class Made:
    """What a part contributes."""

    tables: dict[str, list[str]] = field(default_factory=dict)
    """Section to lines."""
    gains: list[Gain] = field(default_factory=list)
    """For the summary."""


def parts(pools: QualityPools) -> Mapping[str, Callable[[], Made]]:
    """Every part that there are data for, by its name, in order."""
    found: dict[str, Callable[[], Made]] = {}
    if ROLLOUTS.is_dir():
        sets = (*EVALUATION_ONLY, *MAY_TRAIN)
        found |= {name: partial(real_part, pools, name) for name in sets}
        found |= {f"wordy {name}": partial(wordy_part, pools, name) for name in WORDY_SETS}
    if LEXICAL.exists() and DATA.is_dir():
        found |= {f"lexical {name}": partial(lexical_part, pools, name) for name in LEXICAL_PRESETS}
    return found | {f"world {setting}": partial(world_part, pools, setting) for setting in (WEBQA, BROWSING)}


def real_part(pools: QualityPools, name: str) -> Made:
    """Real agents: everything on questions new to what ships; then transfer, on test questions and others."""
    judged, ks = pools.judged(name)
    left_out = EVALUATION_ONLY if name in EVALUATION_ONLY else (name,)
    learned = pools.fitted_on_others(*left_out)
    settled = Settled(judged, ks, {**unfitted(), **learned.methods})
    new, test = pools.new_to_shipped(judged), pools.test_questions(judged)
    made = Made()
    for rule, words in RULES.items():
        view = View(settled, rule, new, VOTES)
        _add(made, f"{REAL}, {words}", name, columns_of(view), OVER_ALL)
        splits = (("test", test), ("other", ~test))
        columns = [
            column
            for split, where in splits
            for column in columns_of(
                View(settled, rule, where, VOTES),
                [k for k in ks if k in TRANSFER_BUDGETS],
                f"{split} ({where.sum():,}), ",
            )
        ]
        pairs = [(ours, over) for ours in learned.methods for over in (ABSTENTIONS_OUT, STRONGEST)]
        made.tables[f"{TRANSFER}, {words}"] = [
            *head(f"{name}, fitted on {learned.pools:,} pools of others", columns),
            *method_rows(columns, [ABSTENTIONS_OUT, STRONGEST, *learned.methods]),
            oracle_row(columns),
            *gain_rows(gains_of(name, columns, pairs)),
            "",
        ]
    return made


def wordy_part(pools: QualityPools, name: str) -> Made:
    """The same agents as if some of their rollouts answered in whole phrases."""
    judged, ks = pools.judged(name)
    longer = [wordy(pool, WORDY_SHARE) for pool in judged]
    settled = Settled(longer, ks, unfitted())
    made = Made()
    for rule, words in WORDY_RULES.items():
        view = View(settled, rule, pools.new_to_shipped(judged), VOTES)
        _add(made, f"{WORDY}, {words}", f"{name}, wordy", columns_of(view), OVER_ALL)
    return made


def lexical_part(pools: QualityPools, name: str) -> Made:
    """Our own agents without a language model, all sets together and each."""
    asked = [example.question for example in pools.questions.of("test")]
    wanted = pools.scale.lexical_base if name == "base" else pools.scale.lexical
    every = max(1, len(asked) // wanted)
    policy = LexicalPolicy(pools.questions.corpus, LEXICAL_PRESETS[name])
    judged = list(policy.pools(asked[::every]))
    settled = Settled(judged, PAPER_BUDGETS, {**unfitted(), **pools.fitted_on_lexical().methods})
    made, everywhere = Made(), np.ones(len(judged), np.bool_)
    for rule, words in RULES.items():
        columns = columns_of(View(settled, rule, everywhere, VOTES))
        _add(made, f"{LEXICAL_AGENTS}, {words}", f"lexical:{name}", columns, (*OVER_ALL, *OVER_MAJORITY))
    made.tables[f"{LEXICAL_AGENTS}, {RULES[EM]}{BY_SET}"] = _by_set(f"lexical:{name}", settled)
    return made


def _by_set(title: str, settled: Settled) -> list[str]:
    lines: list[str] = []
    for dataset in SETS:
        where = np.array([pool.question.dataset == dataset for pool in settled.pools])
        columns = columns_of(View(settled, EM, where, VOTES))
        if columns:
            prefix = f"{dataset} ({where.sum():,}): "
            lines += [] if lines else head(title, columns)
            lines += method_rows(columns, [STRONGEST, SHIPPED, PLUS], prefix)
            lines += [oracle_row(columns, prefix), *gain_rows(gains_of(title, columns, [(SHIPPED, STRONGEST)]), prefix)]
    return [*lines, ""]


def world_part(pools: QualityPools, setting: str) -> Made:
    """The generated world; the selectors that ship have seen nothing of this seed."""
    preset, scale = PRESETS["paper"][setting], pools.scale
    judged: list[tr.Pool] = list(iter_world(preset, scale.world, JUDGED_SEED))
    learned = pools.fitted_on_world(setting).methods
    shipped = {SHIPPED_BROWSING: load_selector(BROWSING_SELECTOR)} if setting == BROWSING else {}
    settled = Settled(judged, PAPER_BUDGETS, {**unfitted(), **shipped, **learned})
    made, view = Made(), View(settled, GIVEN, np.ones(len(judged), np.bool_), VOTES)
    _add(made, WORLD, f"generated world, {setting}", columns_of(view), (*OVER_ALL, *OVER_MAJORITY))
    return made


def _add(made: Made, section: str, name: str, columns: list[Column], pairs: tuple[Pair, ...]) -> None:
    """A whole table, and its gains for the summary."""
    if not columns:
        return
    view, gains = columns[0].view, gains_of(name, columns, pairs)
    made.tables[section] = table(f"{name} ({len(view):,} questions)", columns, list(view.settled.methods), gains)
    made.gains.extend(gains)
