"""Who is right *by meaning* on agents and questions never fitted on: ``python -m studies.quality.by_meaning CACHE``.

Prints Markdown tables; names of parts after the cache measure these alone. Finished parts are kept in the cache and
not measured again without ``--again``. Labels are those of ``studies/shipped_weights/judged.py``. Gains are over the
best vote unless they say otherwise, picked in hindsight for each cell, which favours the vote. Nothing that is fitted
here ships. ``make quality`` measures the same and writes it on top of docs/quality.md.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from rich.console import Console

import tracerank as tr
from studies.quality.figures import DRAWS, GENERATOR, STRONGEST, Settled, View, Where
from studies.quality.meaning_candidates import CANDIDATES, RECIPE, SeenPools, in_forms
from studies.quality.meaning_tables import (
    ORACLE,
    Part,
    Row,
    Sanity,
    cell_rows,
    gain_table,
    markdown,
    mean_figure,
)
from studies.quality.methods import ABSTENTIONS_OUT, MAJORITY, SHIPPED, VOTES, votes
from studies.quality.methods import shipped as shipped_selector
from studies.quality.parts import JUDGED_SEED
from studies.quality.pools import QualityPools, Scale
from studies.quality.sanity import further_votes, overturns, repeated
from studies.quality.tables import Pair
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.meaning_selector import WEIGHT, Taught, generated_pools
from studies.shipped_weights.real_pools import MAY_TRAIN, folded
from tracerank.evaluation.labels import EM, GIVEN, MEANING, labelled
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.lexical.presets import BASE
from tracerank.lab.lexical.presets import PRESETS as LEXICAL_PRESETS
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import WEBQA
from tracerank.runs.atomic import write_text
from tracerank.selectors.features.model import FeatureModel
from tracerank.votes.base import Method
from tracerank.votes.simple import SingleRollout

BUDGETS: Mapping[str, tuple[int, ...]] = {
    "search_r1": (2,),
    "hotpot_agent": (2, 3, 4, 8),
    "hotpot_agent+": (2, 3, 4, 8),
    "r1_searcher": (2,),
    "fireact": (2, 3),
    "knowagent": (2,),
}
UNSEEN = ("search_r1", "hotpot_agent", "hotpot_agent+")
LEFT_OUT, KNOWN, WORLD = "left_out", "known", "world"
LEXICAL = tuple(f"lexical {name}" for name in LEXICAL_PRESETS)
"""Our own agents without a language model; nothing that is judged here was fitted on rollouts of theirs."""
CHAT = "chat tags"
"""Our agent with a small chat model (Qwen2.5-Coder-1.5B), on questions of the almanac; nothing was fitted on it."""
CHAT_POOLS = Path(__file__).with_name("chat_pools.jsonl.gz")
"""100 questions, 4 rollouts each, labelled by meaning: ``python -m studies.trial MODEL --rollouts 100x4``."""
CHAT_BUDGETS = (2, 4)
OTHER, TEST = "agent left out, other questions", "agent left out, test questions"
"""Models of the other agents have seen neither; candidates are chosen on the first, so the second confirms."""
WORLD_BUDGETS = (4, 16)
SANE_FROM, COPIES = 4, 300
"""The budget from which one group can have few votes and another many; pools of which a rollout is repeated."""


class Study:
    """Pools labelled by meaning, and models fitted on them."""

    def __init__(self, pools: QualityPools, judgements: Judgements, taught: Taught, weight: float = WEIGHT) -> None:
        self._pools, self._judgements, self._taught, self._weight = pools, judgements, taught, weight
        self._meant: dict[str, list[tr.Pool]] = {}
        self._fitted: dict[str | None, Mapping[str, FeatureModel]] = {}

    def meant(self, name: str) -> list[tr.Pool]:
        """The pools of a set that leave a choice, labelled by meaning."""
        if name not in self._meant:
            self._meant[name] = [self._judgements.labelled(pool) for pool in self._sample(name)]
        return self._meant[name]

    def _sample(self, name: str) -> Sequence[tr.Pool]:
        return self._pools.sample(self._pools.real(name))

    @cached_property
    def _exact(self) -> Mapping[str, list[tr.Pool]]:
        return {name: [labelled(pool, EM) for pool in self._sample(name)] for name in MAY_TRAIN}

    @cached_property
    def _generated(self) -> list[tr.Pool]:
        return list(generated_pools(WEBQA))

    def models(self, left_out: str | None = None) -> Mapping[str, FeatureModel]:
        """Every candidate, fitted without test questions, and without an agent and all its questions."""
        if left_out not in self._fitted:
            self._fitted[left_out] = self._fit(left_out)
        return self._fitted[left_out]

    def _fit(self, left_out: str | None) -> Mapping[str, FeatureModel]:
        known = {folded(pool.question.text) for pool in self._pools.real(left_out)} if left_out else frozenset[str]()

        def real(name: str, is_judged: bool) -> list[tr.Pool]:
            pools = self.meant(name) if is_judged else self._exact[name]
            return [p for p in pools if not self._pools.is_test(p) and folded(p.question.text) not in known]

        others = [name for name in MAY_TRAIN if name != left_out]
        return {
            name: self._taught.fit(
                [pool for other in others for pool in real(other, each.is_judged)],
                self._generated,
                each.plan,
                self._weight,
            )
            for name, each in CANDIDATES.items()
        }

    def cell(
        self, pools: Sequence[tr.Pool], ks: Sequence[int], models: Mapping[str, FeatureModel]
    ) -> tuple[Settled, SeenPools]:
        """Pools to be settled by votes and models, and what the models saw of them."""
        seen = SeenPools()
        methods: dict[str, Method] = {"single": SingleRollout(), **votes()}
        methods |= {method.name: method for method in in_forms(models, seen)}
        return Settled(pools, ks, methods, orders=DRAWS), seen

    def unseen(self, name: str) -> Part:
        """A set that nothing may be fitted on, on questions new to what ships and to the candidates."""
        pools = [pool for pool in self.meant(name) if len(pool) >= BUDGETS[name][-1]]
        models = {**shipped(), **self.models()}
        settled, seen = self.cell(pools, BUDGETS[name], models)
        return _part(name, settled, seen, models, self._pools.new_to_shipped(pools))

    def left_out(self) -> Part:
        """Each agent that may train, judged by models of the others: choose on the other questions, confirm on test."""
        views: dict[str, list[View]] = {OTHER: [], TEST: []}
        for name in MAY_TRAIN:
            pools = [pool for pool in self.meant(name) if len(pool) >= BUDGETS[name][-1]]
            settled, _ = self.cell(pools, BUDGETS[name], self.models(name))
            is_test = self._pools.test_questions(pools)
            views[OTHER].append(View(settled, GIVEN, ~is_test, VOTES))
            views[TEST].append(View(settled, GIVEN, is_test, VOTES))
        return Part([row for split, found in views.items() for row in _agent_rows(split, found)], [])

    def known(self) -> Part:
        """The same agents, known from other questions, as they are to what ships."""
        views, models = [], {**shipped(), **self.models()}
        for name in MAY_TRAIN:
            pools = [pool for pool in self.meant(name) if len(pool) >= BUDGETS[name][-1]]
            settled, _ = self.cell(pools, BUDGETS[name], models)
            views.append(View(settled, GIVEN, self._pools.test_questions(pools), VOTES))
        return Part(_agent_rows("known agents, test questions", views), [])

    def world(self) -> Part:
        """Generated pools of another seed."""
        pools = list(iter_world(PRESETS["paper"][WEBQA], self._pools.scale.world, JUDGED_SEED))
        models = {**shipped(), **self.models()}
        settled, seen = self.cell(pools, WORLD_BUDGETS, models)
        return _part(WORLD, settled, seen, models, np.ones(len(pools), np.bool_))

    def lexical(self, name: str) -> Part:
        """Our own agents on test questions; nobody judged their answers, so ``is_right`` does."""
        preset = LEXICAL_PRESETS[name.removeprefix("lexical ")]
        asked = [example.question for example in self._pools.questions.of("test")]
        wanted = self._pools.scale.lexical_base if preset is BASE else self._pools.scale.lexical
        policy = LexicalPolicy(self._pools.questions.corpus, preset)
        pools = [labelled(pool, MEANING) for pool in policy.pools(asked[:: max(1, len(asked) // wanted)])]
        models = {**shipped(), RECIPE: self.models()[RECIPE]}
        settled, seen = self.cell(pools, WORLD_BUDGETS, models)
        return _part(name, settled, seen, models, np.ones(len(pools), np.bool_))

    def chat(self) -> Part:
        """Our own agent with a small language model, on questions of the almanac; ``is_right`` judges."""
        pools = [labelled(pool, MEANING) for pool in tr.iter_pools(CHAT_POOLS)]
        models = {**shipped(), RECIPE: self.models()[RECIPE]}
        settled, seen = self.cell(pools, CHAT_BUDGETS, models)
        return _part(CHAT, settled, seen, models, np.ones(len(pools), np.bool_))


def shipped() -> dict[str, FeatureModel]:
    return {SHIPPED: shipped_selector().model}


def _pairs(view: View) -> list[Pair]:
    """All over the best vote, ours over the other baselines, and candidates over the recipe of what ships."""
    methods = view.settled.methods
    ours = SHIPPED if SHIPPED in methods else RECIPE
    baselines = [(ours, over) for over in (ABSTENTIONS_OUT, MAJORITY, GENERATOR)]
    over_recipe = [(name, RECIPE) for name in CANDIDATES if name != RECIPE and name in methods]
    return [*((name, STRONGEST) for name in (*methods, ORACLE)), *baselines, *over_recipe]


def _rows(cell: str, view: View) -> list[Row]:
    return [row for k in view.settled.ks for row in cell_rows(f"{cell}, K={k}", view, _pairs(view), k)]


def _agent_rows(split: str, views: Sequence[View]) -> list[Row]:
    """The mean over all agents that may train, then each; a view an agent, in their order."""
    questions = sum(map(len, views))
    means = [
        Row(f"{split}, mean", questions, name, figure, None, over)
        for name, over in _pairs(views[0])
        if (figure := mean_figure(views, name, over)) is not None
    ]
    own = (_rows(f"{split}, {agent}", view) for agent, view in zip(MAY_TRAIN, views, strict=True))
    return means + [row for rows in own for row in rows]


def _part(name: str, settled: Settled, seen: SeenPools, models: Mapping[str, FeatureModel], where: Where) -> Part:
    rows = _rows(name, View(settled, GIVEN, where, VOTES))
    sanity = []
    for k in (k for k in settled.ks if k >= SANE_FROM):
        pools = [seen.of(cut.pool) for cut in settled.cuts[k] if where[cut.place]]
        copied = [pair for pair in map(repeated, pools[:: max(1, len(pools) // COPIES)]) if pair is not None]
        for title, model in models.items():
            counts = asdict(overturns(model, pools)) | asdict(further_votes(model, copied))
            sanity.append(Sanity(f"{name}, K={k}", title, counts))
    return Part(rows, sanity)


PARTS: Mapping[str, Callable[[Study], Part]] = {
    **{name: partial(Study.unseen, name=name) for name in UNSEEN},
    LEFT_OUT: Study.left_out,
    KNOWN: Study.known,
    WORLD: Study.world,
    **{name: partial(Study.lexical, name=name) for name in LEXICAL},
    **({CHAT: Study.chat} if CHAT_POOLS.exists() else {}),
}


def measure(study: Study, names: Sequence[str], folder: Path, is_again: bool = False) -> dict[str, Part]:
    """The parts asked for, each kept as soon as it is there."""
    console = Console(stderr=True)
    made = {}
    for name in names:
        file = folder / f"{name}.json"
        if file.exists() and not is_again:
            made[name] = Part.of_json(json.loads(file.read_text(encoding="utf-8")))
            console.print(f"{name}: kept from an earlier run")
            continue
        began = time.monotonic()
        made[name] = PARTS[name](study)
        write_text(file, json.dumps(asdict(made[name])))
        console.print(f"{name}: {time.monotonic() - began:.0f} s")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.by_meaning", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for finished parts")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--weight", type=float, default=WEIGHT, help="of a generated question in fits")
    parser.add_argument("--again", action="store_true", help="measure finished parts again")
    chosen = parser.parse_args(arguments)
    names = chosen.parts or list(PARTS)
    if unknown := set(names) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    folder = chosen.cache / f"by-meaning-{chosen.weight:g}"
    folder.mkdir(parents=True, exist_ok=True)
    study = Study(QualityPools(chosen.cache, folder, Scale()), Judgements.read(), Taught(), chosen.weight)
    made = measure(study, names, folder, chosen.again)
    print("\n".join(gain_table([row for part in made.values() for row in part.rows])))
    for part in made.values():
        print("\n".join(markdown(part)))


if __name__ == "__main__":
    main()
