"""``fit``: from labelled pools to the folder of the selector that is surely best on them, or of what ships.

report = fit(tr.iter_pools("labelled.jsonl"), "mine")
print(report.conclusion())
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.evaluation.labels import AUTO, Labelling
from tracerank.evidence.confidence import shipped_confidence
from tracerank.fitting.calibrate import Calibrated, best_calibration, cases_of, subsets_of
from tracerank.fitting.candidates import SHIPPED, candidates_for
from tracerank.fitting.folder import FORMAT, README, REPORT, FitReport, write_records
from tracerank.fitting.nested import Comparison, NestedValidation
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import is_draft, write_json, write_text
from tracerank.votes.base import Decision, decide_stream
from tracerank.votes.folders import ABOUT, CONFIDENCE, FITTED_ON, fitted_on, remember_fitted

FOLDS = 5
RECORDS = "records"
OWN = (REPORT, README, ABOUT, CONFIDENCE, FITTED_ON, RECORDS)
"""What a fit writes; a folder with anything else is refused."""


@dataclass(frozen=True, slots=True)
class LabelledPools:
    """Pools with a label on every rollout, and why others are left out."""

    pools: tuple[Pool, ...]
    left_out: Mapping[str, int]
    labels: Mapping[str, Any]
    """As ``Labelling.record`` has it."""

    @classmethod
    def of(cls, pools: Iterable[Pool], labelling: Labelling) -> "LabelledPools":
        kept: list[Pool] = []
        left_out: dict[str, int] = {}
        for pool in labelling.pools(pools):
            right = [correctness(rollout, pool.question.references) for rollout in pool.rollouts]
            if right and None not in right:
                rollouts = (replace(rollout, label=label) for rollout, label in zip(pool.rollouts, right, strict=True))
                kept.append(Pool.of(pool.question, rollouts))
            else:
                reason = "some answers without a label" if any(right) else "no label"
                left_out[reason] = left_out.get(reason, 0) + 1
        if not kept:
            raise UsageError(
                f"none of {sum(left_out.values()):,} questions is labelled; give pools with labels, or with references "
                "to compare answers with"
            )
        return cls(tuple(kept), left_out, labelling.record())


def fit(
    pools: Iterable[Pool],
    output: str | Path,
    *,
    labels: str | Labelling = AUTO,
    folds: int = FOLDS,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    on_step: Callable[[str], object] = lambda text: None,
) -> FitReport:
    """Compare the candidates by nested cross-validation, and write the winner's folder.

    ``settings`` describe the input; a finished folder with the same settings is returned as it is, one with others is
    refused unless ``force`` is set.
    """
    labelling = labels if isinstance(labels, Labelling) else Labelling(labels)
    folder = Path(output)
    identity = json.loads(json.dumps({**(settings or {}), "labels": labelling.name, "folds": folds, "seed": seed}))
    if (finished := _finished(folder, identity, force)) is not None:
        return FitReport(finished, is_new=False)
    data = LabelledPools.of(pools, labelling)
    on_step("reading evidence")
    validation = NestedValidation(data.pools, candidates_for(data.pools, seed), folds, seed, on_step)
    comparison = validation.run()
    on_step("confidence")
    calibrated = _calibrated(validation, comparison.winner, seed)
    selector = validation.fit(comparison.winner, range(len(data.pools)))
    # Written first: without it the selector's own questions would count as new ones.
    known = fitted_on(SHIPPED) if comparison.winner == SHIPPED else None
    remember_fitted(folder, (pool.question.text for pool in data.pools), known)
    selector.save(folder)
    if calibrated is not None and calibrated.calibration is not None:
        calibrated.calibration.save(folder)
    write_records(folder / RECORDS, comparison, data.pools, data.labels, identity)
    report = FitReport(_record(comparison, data, calibrated, identity), is_new=True)
    write_text(folder / README, report.card())
    write_json(folder / REPORT, report.record())
    return report


def _calibrated(validation: NestedValidation, winner: str, seed: int) -> Calibrated | None:
    """The confidence of the winner, by its decisions on folds that it was not fitted on; None: too few questions."""

    def decided() -> Iterator[tuple[Pool, Decision]]:
        for train, held_out in validation.parts:
            selector = validation.fit(winner, train)
            selector.calibrator = shipped_confidence()
            cut = (subset for index in held_out for subset in subsets_of(validation.pools[index], seed))
            yield from decide_stream(selector, cut)

    cases = cases_of(decided())
    return best_calibration(cases) if cases.is_enough else None


def _finished(folder: Path, settings: Mapping[str, Any], force: bool) -> dict[str, Any] | None:
    """The report of the same fit in the folder; refuses other contents, and removes those of another fit by force."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a folder")
    if not all(name in OWN or is_draft(name) for name in os.listdir(folder)):
        raise UsageError(f"{folder}: is not empty and holds no fit; choose another folder")
    report = _read_report(folder / REPORT)
    if report is not None and not force:
        if report.get("settings") == settings:
            return report
        raise UsageError(
            f"{folder}: holds a fit on other files or settings; choose another folder, or replace it with --force"
        )
    for name in OWN:  # of another fit, or of one that was interrupted
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return None


def _read_report(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and value.get("format") == FORMAT else None


def _record(
    comparison: Comparison, data: LabelledPools, calibrated: Calibrated | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    sizes = [len(pool) for pool in data.pools]
    return {
        "format": FORMAT,
        "winner": comparison.winner,
        "picked": comparison.final,
        "picks": list(comparison.picks),
        "rows": [asdict(row) for row in comparison.rows],
        "confidence": None if calibrated is None else calibrated.record(),
        "questions": comparison.questions,
        "pools": len(sizes),
        "rollouts": [min(sizes), max(sizes)],
        "left_out": dict(data.left_out),
        "labels": dict(data.labels),
        "settings": dict(settings),
    }
