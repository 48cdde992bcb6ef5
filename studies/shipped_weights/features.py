"""What features gain over votes on agents never seen: ``python -m studies.shipped_weights.features``.

Leave one source out: to judge on a set, the model is fitted on the other sets that may train, and on lexical pools.
Figures are of questions outside the test split; ``--test`` takes the test questions, once, at the end. ``--fit FOLDER``
writes the model that ships, with ``--browsing`` the one for browsing.
"""

import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from studies.shipped_weights.real_pools import (
    BUDGETS,
    EVALUATION_ONLY,
    LEXICAL,
    MAY_TRAIN,
    Sample,
    lexical_pools,
    real_pools,
    samples_of,
    tested_questions,
)
from studies.shipped_weights.wordy import wordy
from tracerank.agents.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import BROWSING
from tracerank.selectors.features.fit import FeatureFitPlan, LabelledTable, LinearPlan, TreePlan, fit_features
from tracerank.selectors.features.model import FeatureModel
from tracerank.selectors.features.selector import FeatureSelector, choose
from tracerank.selectors.features.table import FAMILIES, FEATURES

LEXICAL_WEIGHT = 0.1
"""Of a lexical question, where a real one has 1."""
WORDY_SHARES, LEXICAL_WORDY_SHARES = (0.0, 0.0, 0.3, 0.6), (0.0, 0.0, 0.4)
"""Each pool is taken so often, with such shares of its answers in longer forms."""
WORTH_OF_MEANING = 0.2
"""How right a form is that means the answer but is written otherwise."""
LEXICAL_BUDGETS = (2, 3, 4, 8, 16)
WORLD_QUESTIONS, WORLD_SEED, WORLD_WEIGHT = 2000, 900, 0.3
"""Generated browsing questions that the selector for browsing is fitted on besides."""
BEST_VOTE = "shortest"
"""The form of the default vote that does best by exact match on these sets."""
SMALL, LARGE = range(2, 5), range(6, 11)
DEFAULT_PLAN = FeatureFitPlan(LinearPlan(), TreePlan(), dropped_families=("effort",), folds=1)


@dataclass(frozen=True, slots=True)
class Variant:
    """What is fitted, and on what."""

    plan: FeatureFitPlan = DEFAULT_PLAN
    lexical: float = LEXICAL_WEIGHT
    """Weight of lexical questions; 0: none."""
    real: float = 1.0
    world: float = 0.0
    """Weight of generated browsing questions."""
    by_group: bool = True
    """Choose the group first; else the likeliest form."""


def _without(*families: str) -> FeatureFitPlan:
    return replace(LINEAR, dropped_families=(*DEFAULT_PLAN.dropped_families, *families))


LINEAR = replace(DEFAULT_PLAN, trees=None)
VARIANTS: Mapping[str, Variant] = {
    "linear and trees": Variant(),
    "linear": Variant(LINEAR),
    "trees": Variant(replace(DEFAULT_PLAN, linear=None)),
    "likeliest form": Variant(by_group=False),
    "real pools only": Variant(lexical=0.0),
    "lexical pools only": Variant(real=0.0, lexical=1.0),
    "lexical x 0.3": Variant(lexical=0.3),
    "with effort": Variant(replace(DEFAULT_PLAN, dropped_families=())),
    **{
        f"linear, no {family}": Variant(_without(family))
        for family in FAMILIES
        if family not in ("pool", *DEFAULT_PLAN.dropped_families)
    },
}


class Study:
    """The samples, and models fitted without the set that they are judged on."""

    def __init__(
        self,
        sources: Sequence[str] = (*MAY_TRAIN, *EVALUATION_ONLY),
        every: int = 4,
        draws: int = 3,
        world: int = 0,
    ) -> None:
        tested = tested_questions()
        self.sets: dict[str, list[Sample]] = {}
        """As they are."""
        self.taught: dict[str, list[Sample]] = {}
        """What is fitted on, longer forms among them."""
        for name in sources:
            pools = [pool for pool in real_pools(name) if len(pool) > 1]
            by_share = {
                share: [s for pool in pools for s in samples_of(wordy(pool, share), name, BUDGETS, draws, tested)]
                for share in (sorted(set(WORDY_SHARES)) if name in MAY_TRAIN else (0.0,))
            }
            self.sets[name] = by_share[0.0]
            if name in MAY_TRAIN:
                self.taught[name] = [s for share in WORDY_SHARES for s in by_share[share] if not s.is_test]
        self.lexical: list[Sample] = []
        for pool in lexical_pools(every) if LEXICAL.exists() else ():
            for share in LEXICAL_WORDY_SHARES:
                drawn = samples_of(wordy(pool, share), "lexical", LEXICAL_BUDGETS, 1, tested)
                self.lexical += [_reticent(sample) for sample in drawn if not sample.is_test]
        worlds = iter_world(PRESETS["paper"][BROWSING], world, WORLD_SEED) if world else ()
        self.world = [s for pool in worlds for s in samples_of(pool, "world", LEXICAL_BUDGETS, 1)]

    def fit(self, variant: Variant, left_out: str | None = None) -> FeatureModel:
        known = {sample.question for sample in self.sets[left_out]} if left_out else set()
        weighted = [(s, variant.real) for name in MAY_TRAIN if name != left_out for s in self.taught[name]]
        weighted += [(sample, variant.lexical) for sample in self.lexical]
        weighted += [(sample, variant.world) for sample in self.world]
        used = [
            (_softened(sample), weight)
            for sample, weight in weighted
            if weight and not sample.is_test and sample.question not in known and len(sample.labelled.right)
        ]
        return fit_features([labelled for labelled, _ in used], variant.plan, [weight for _, weight in used])


def _softened(sample: Sample) -> LabelledTable:
    labelled = sample.labelled
    return replace(labelled, right=np.maximum(labelled.right, WORTH_OF_MEANING * sample.meant))


def _reticent(sample: Sample) -> Sample:
    """Every other question without its stated confidence, which real pools lack: it must not tell them apart."""
    if zlib.crc32(sample.question.encode()) % 2:
        return sample
    table = sample.labelled.table
    hidden = np.where([feature.family == "confidence" for feature in FEATURES], np.float32(np.nan), table.values)
    return replace(sample, labelled=replace(sample.labelled, table=replace(table, values=hidden)))


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Per sample of a set, whether the string and the group were right."""

    exact: NDArray[np.float64]
    group: NDArray[np.float64]


def by_rows(samples: Sequence[Sample], row_of: Callable[[Sample], int]) -> Outcomes:
    """Outcomes of choosing a row of each table; -1 is wrong."""
    exact, group = np.zeros(len(samples)), np.zeros(len(samples))
    for place, sample in enumerate(samples):
        row = row_of(sample)
        if row >= 0:
            groups, right = sample.labelled.table.groups, sample.labelled.right
            exact[place], group[place] = right[row], right[groups == groups[row]].any()
    return Outcomes(exact, group)


def by_model(samples: Sequence[Sample], model: FeatureModel, by_group: bool = True) -> Outcomes:
    """Outcomes of a model's choices."""

    def row(sample: Sample) -> int:
        if not len(sample.labelled.right):
            return -1
        chosen = choose(model, sample.labelled.table)
        return chosen.row if by_group else int(chosen.chances.argmax())

    return by_rows(samples, row)


def gain(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], questions: Sequence[str]
) -> tuple[float, float, float]:
    """Mean difference in points, and its 95% interval by paired bootstrap over questions."""
    _, place = np.unique(np.array(questions), return_inverse=True)
    sums, counts = np.bincount(place, ours - theirs), np.bincount(place)
    drawn = np.random.default_rng(0).integers(0, len(sums), (2_000, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return 100 * float((ours - theirs).mean()), 100 * float(low), 100 * float(high)


def judged(study: Study, name: str, budgets: range, of_test: bool) -> list[Sample]:
    return [s for s in study.sets[name] if s.k in budgets and s.is_test == of_test]


def main_table(study: Study, of_test: bool) -> Table:
    """The default variant per set and budget, against each form of the vote."""
    table = Table(title=f"exact match / group accuracy in %, gains over the vote ({BEST_VOTE} form)")
    for heading in (
        "set",
        "K",
        "samples",
        "single",
        "first",
        BEST_VOTE,
        "features",
        "exact gain",
        "group gain",
        "oracle",
    ):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    for name in study.sets:
        model = study.fit(Variant(), name)
        for k in BUDGETS:
            samples = judged(study, name, range(k, k + 1), of_test)
            if len(samples) < 20:
                continue
            questions = [sample.question for sample in samples]
            first, best = (by_rows(samples, lambda s, form=form: s.votes[form]) for form in ("first", BEST_VOTE))
            ours = by_model(samples, model)
            gains = [gain(getattr(ours, of), getattr(best, of), questions) for of in ("exact", "group")]
            oracle = np.mean([sample.labelled.right.any() for sample in samples])
            table.add_row(
                *(name, str(k), str(len(samples)), f"{100 * np.mean([s.single for s in samples]):.1f}"),
                *(f"{100 * each.exact.mean():.1f} / {100 * each.group.mean():.1f}" for each in (first, best, ours)),
                *(f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]" for mean, low, high in gains),
                f"{100 * oracle:.1f}",
            )
    return table


def variants_table(study: Study, of_test: bool) -> Table:
    """Mean gains over sets of every variant, over the best vote."""
    table = Table(
        title=f"gain over the vote ({BEST_VOTE} form) in points: exact / group; mean over sets, then each set"
    )
    for heading in ("variant", "K 2-4", "K 6-10", *study.sets):
        table.add_column(heading, justify="left" if heading == "variant" else "right")
    for title, variant in VARIANTS.items():
        small, large = {}, {}
        for name in study.sets:
            model = study.fit(variant, name)
            for found, budgets in ((small, SMALL), (large, LARGE)):
                samples = judged(study, name, budgets, of_test)
                if len(samples) < 20:
                    continue
                best = by_rows(samples, lambda s: s.votes[BEST_VOTE])
                ours = by_model(samples, model, variant.by_group)
                found[name] = 100 * np.array([(ours.exact - best.exact).mean(), (ours.group - best.group).mean()])
        means = (np.mean(list(found.values()), axis=0) for found in (small, large))
        cells = [*means, *(small[name] for name in study.sets)]
        table.add_row(title, *(f"{exact:+.1f} / {group:+.1f}" for exact, group in cells))
    return table


def main(arguments: Sequence[str]) -> None:
    console = Console(width=170)
    if "--fit" in arguments:
        of_browsing = "--browsing" in arguments
        study = Study(MAY_TRAIN, every=2, world=WORLD_QUESTIONS if of_browsing else 0)
        folder = Path(arguments[arguments.index("--fit") + 1])
        variant = Variant(replace(DEFAULT_PLAN, folds=5), world=WORLD_WEIGHT if of_browsing else 0.0)
        model = study.fit(variant)
        weights = {"lexical_weight": variant.lexical, "generated_browsing_weight": variant.world}
        about = {"real": list(MAY_TRAIN), **weights, **model.training}
        FeatureSelector(replace(model, training=about)).save(folder)
        console.print(f"{folder}: {about}")
        return
    of_test = "--test" in arguments
    study = Study()
    console.print(main_table(study, of_test))
    if not of_test:
        console.print(variants_table(study, of_test))


if __name__ == "__main__":
    main(sys.argv[1:])
