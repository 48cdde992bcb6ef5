"""The selector that ships, by one command: ``python -m studies.shipped_weights.evidence_selector FOLDER``.

Fitted on the real rollouts that may train, outside the test split, labelled by meaning as they were judged by reading,
and on generated pools with their truth; some answers of all of them in longer forms, too. The same file comes out each
time on one machine; other linear algebra may change the last digits.
"""

import sys
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from rich.console import Console

import tracerank as tr
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.lexical_data import split_of
from studies.shipped_weights.real_pools import MAY_TRAIN, folded, real_pools, tested_questions
from studies.shipped_weights.wordy import wordy
from tracerank.evidence.fit import LabelledTable, fit_model, labelled_tables
from tracerank.evidence.model import Logistic
from tracerank.evidence.selector import EvidenceSelector
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import WEBQA

REAL_SHARES, GENERATED_SHARES = (0.0, 0.3, 0.6), (0.0, 0.4)
"""Each pool is taken so often, with such shares of its answers in longer forms."""
GENERATED, SEED = 600, 32
"""Generated questions with 16 rollouts that are fitted on besides, as a choice among many is in no real set that may
train; the seed of their world. One weighs as much as a real question."""


def judged_pools(tested: Container[str]) -> dict[str, list[tr.Pool]]:
    """The pools of each set that may train, outside the test split, labelled by meaning."""
    judgements = Judgements.read()
    return {
        name: [judgements.labelled(pool) for pool in real_pools(name) if len(pool) > 1 and not is_tested(pool, tested)]
        for name in MAY_TRAIN
    }


def is_tested(pool: tr.Pool, tested: Container[str]) -> bool:
    """Whether nothing may be fitted on the question."""
    return split_of(pool.question.text) == "test" or folded(pool.question.text) in tested


def generated_pools(setting: str = WEBQA) -> Iterable[tr.Pool]:
    return iter_world(PRESETS["paper"][setting], GENERATED, SEED)


class Taught:
    """Tables to fit on, made once for all fits."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[tr.Pool, list[LabelledTable]]] = {}

    def fit(self, real: Iterable[tr.Pool], generated: Iterable[tr.Pool]) -> Logistic:
        """A model of pools that are labelled."""
        return fit_model(self.tables(real, generated))

    def tables(self, real: Iterable[tr.Pool], generated: Iterable[tr.Pool]) -> list[LabelledTable]:
        """The tables to fit on."""
        kinds = ((real, REAL_SHARES), (generated, GENERATED_SHARES))
        return [table for pools, shares in kinds for pool in pools for table in self._tables(pool, shares)]

    def _tables(self, pool: tr.Pool, shares: Sequence[float]) -> list[LabelledTable]:
        # The pool is kept beside its tables, so that its identity is not used again.
        if id(pool) not in self._made:
            forms = [wordy(pool, share) if share else pool for share in shares]
            self._made[id(pool)] = pool, [table for form in forms for table in labelled_tables(form)]
        return self._made[id(pool)][1]


def main(arguments: Sequence[str]) -> None:
    out, console = Path(arguments[0]), Console(stderr=True)
    real = [pool for pools in judged_pools(tested_questions()).values() for pool in pools]
    tables = Taught().tables(real, list(generated_pools()))
    questions = len({table.question for table in tables})
    about = {"real": list(MAY_TRAIN), "generated": WEBQA, "questions": questions, "tables": len(tables)}
    EvidenceSelector(fit_model(tables), training=about).save(out)
    console.print(f"{out}: {about}")


if __name__ == "__main__":
    main(sys.argv[1:])
