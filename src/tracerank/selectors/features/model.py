"""A fitted feature model and its folder: ``selector.json`` tells what it is, ``selector.safetensors`` its numbers.

Boosted trees are plain arrays, walked with numpy; fitting them is ``fit.py``'s matter, with a library.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tracerank.errors import CheckpointError
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.table import FORM_FEATURES, FeatureSet
from tracerank.votes.selector import read_description, weights_file, write_description

NOT_MISSING, ZERO_MISSING, NAN_MISSING = 0, 1, 2
_MISSING_TYPES = {"None": NOT_MISSING, "Zero": ZERO_MISSING, "NaN": NAN_MISSING}
_ZERO = 1e-35
"""What LightGBM counts as zero."""


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees whose leaf values are summed. Children below zero are leaves: ~child is the leaf's place."""

    roots: NDArray[np.int32]
    """Per tree, its first node, or a leaf."""
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    """Values up to it go left."""
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    default_left: NDArray[np.uint8]
    """Where a missing value goes."""
    missing: NDArray[np.uint8]
    """What counts as missing: nothing (NaN is then 0), zeros and NaN, or NaN."""
    leaves: NDArray[np.float64]

    def scores(self, values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """The sum over all trees for each row."""
        inputs: NDArray[np.float64] = np.asarray(values, np.float64)
        at = np.broadcast_to(self.roots, (len(values), len(self.roots))).copy()
        rows = np.arange(len(values))[:, None]
        while (inner := at >= 0).any():
            node = np.where(inner, at, 0)
            at = np.where(inner, self._next(node, inputs[rows, self.feature[node]]), at)
        found: NDArray[np.float64] = self.leaves[~at].sum(axis=1)
        return found

    def _next(self, node: NDArray[np.int32], value: NDArray[np.float64]) -> NDArray[np.int32]:
        missing = self.missing[node]
        is_nan = np.isnan(value)
        plain = np.where(is_nan, 0.0, value)
        is_missing = ((missing == NAN_MISSING) & is_nan) | ((missing == ZERO_MISSING) & (np.abs(plain) <= _ZERO))
        goes_left = np.where(is_missing, self.default_left[node] > 0, plain <= self.threshold[node])
        return np.where(goes_left, self.left[node], self.right[node])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Name to array, for saving."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> "Trees":
        """The trees of saved arrays; raises ValueError unless every walk through them ends in a leaf."""
        trees = cls(**{field.name: arrays[field.name] for field in fields(cls)})
        trees.check(width)
        return trees

    def check(self, width: int) -> None:
        """Raise ValueError unless the arrays are trees over this many features."""
        nodes = len(self.feature)
        per_node = (self.threshold, self.left, self.right, self.default_left, self.missing)
        if any(array.ndim != 1 for array in self.arrays().values()) or any(len(array) != nodes for array in per_node):
            raise ValueError("the arrays of the trees differ in length")
        if nodes and not (self.feature.min() >= 0 and self.feature.max() < width):
            raise ValueError(f"a tree asks for a feature outside 0..{width - 1}")
        if not (np.isfinite(self.leaves).all() and np.isfinite(self.threshold).all()):
            raise ValueError("a tree holds values that are not finite")
        children = np.concatenate([self.left, self.right, self.roots]).astype(np.int64)
        if children.size and not (children.min() >= -len(self.leaves) and children.max() < nodes):
            raise ValueError("a tree points outside its arrays")
        # Children stand behind their parents, so a walk cannot go round in circles.
        parents = np.arange(nodes)
        if any(((side >= 0) & (side <= parents)).any() for side in (self.left, self.right)):
            raise ValueError("a tree points backwards")


def trees_of_dump(dump: Mapping[str, Any]) -> Trees:
    """The trees of LightGBM's ``dump_model()``."""
    nodes: list[tuple[int, float, int, int]] = []
    children: list[list[int]] = []
    leaves: list[float] = []

    def add(node: Mapping[str, Any]) -> int:
        if "leaf_value" in node:
            leaves.append(float(node["leaf_value"]))
            return ~(len(leaves) - 1)
        if node["decision_type"] != "<=":
            raise ValueError(f"trees with decisions by {node['decision_type']!r} are not supported")
        place = len(nodes)
        missing = _MISSING_TYPES[node["missing_type"]]
        nodes.append((int(node["split_feature"]), float(node["threshold"]), int(node["default_left"]), missing))
        children.append([0, 0])
        children[place] = [add(node["left_child"]), add(node["right_child"])]
        return place

    roots = [add(tree["tree_structure"]) for tree in dump["tree_info"]]
    return Trees(
        roots=np.array(roots, np.int32),
        feature=_column(nodes, 0, np.int32),
        threshold=_column(nodes, 1, np.float64),
        left=_column(children, 0, np.int32),
        right=_column(children, 1, np.int32),
        default_left=_column(nodes, 2, np.uint8),
        missing=_column(nodes, 3, np.uint8),
        leaves=np.array(leaves, np.float64),
    )


def _column(rows: Sequence[Sequence[float]], place: int, dtype: type) -> NDArray[Any]:
    return np.array([row[place] for row in rows], dtype)


Floats = NDArray[np.floating[Any]]


class Scorer(Protocol):
    """Scores of a pool's rows; only differences within the pool mean anything."""

    @property
    def kind(self) -> str: ...

    def scores(self, values: Floats) -> NDArray[np.float64]: ...

    def arrays(self) -> dict[str, NDArray[Any]]: ...


@dataclass(frozen=True, slots=True)
class LinearScorer:
    """Weights of standardised features; what is missing counts as the mean."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    """0 for a feature that is not used."""

    @property
    def kind(self) -> str:
        return "linear"

    def scores(self, values: Floats) -> NDArray[np.float64]:
        standard = (values - self.center) / self.scale
        found: NDArray[np.float64] = standard @ self.weights
        # Whatever is not finite makes its row's score so, too; most tables have nothing of the kind.
        return found if all(map(math.isfinite, found.tolist())) else np.nan_to_num(standard) @ self.weights

    def parts(self, row: Floats) -> NDArray[np.float64]:
        """What each feature adds to the score of a row."""
        found: NDArray[np.float64] = np.nan_to_num((row - self.center) / self.scale) * self.weights
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"center": self.center, "scale": self.scale, "weights": self.weights}


@dataclass(frozen=True, slots=True)
class TreeScorer:
    """Boosted trees over the features and how far each lies above the best other row."""

    trees: Trees

    @property
    def kind(self) -> str:
        return "trees"

    def scores(self, values: Floats) -> NDArray[np.float64]:
        return self.trees.scores(with_leads(values, np.array([0, len(values)])))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.trees.arrays()


def with_leads(values: Floats, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values, and each less the largest of the pool's other rows: [rows, 2 * features]."""
    values = np.asarray(values, np.float64)
    leads = np.full_like(values, np.nan)
    for start, end in pairwise(offsets.tolist()):
        if end - start > 1:
            rows = values[start:end]
            known = np.where(np.isnan(rows), -np.inf, rows)
            ordered = np.sort(known, axis=0)
            rivals = np.where(known == ordered[-1], ordered[-2], ordered[-1])
            leads[start:end] = rows - np.where(np.isinf(rivals), np.nan, rivals)
    return np.concatenate([values, leads], axis=1)


def log_chances(scorers: Sequence[tuple[Scorer, float]], values: Floats) -> NDArray[np.float64]:
    """Log chance of each row to be the right one, if one is: the weighted mean of the scorers' log softmax."""
    if len(scorers) == 1:
        return log_softmax(log_softmax(scorers[0][0].scores(values)))
    total = np.zeros(len(values))
    for scorer, weight in scorers:
        total += weight * log_softmax(scorer.scores(values))
    return log_softmax(total / sum(weight for _, weight in scorers))


def log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores as log chances."""
    if not len(scores):
        return scores
    # What ``max`` and ``sum`` come down to, without the way there: there are a handful of rows.
    shifted: NDArray[np.float64] = scores - np.maximum.reduce(scores)
    return shifted - math.log(np.add.reduce(np.exp(shifted)))


FORMAT = "tracerank-features/1"
MODEL_FILE = "selector.json"
WEIGHTS_FILE = "selector.safetensors"
_HIGHEST_CHANCE = 1 - 1e-6
_LOWEST_ODDS = -700.0
"""Log odds; below, no float holds the odds."""


@dataclass(frozen=True, slots=True)
class FeatureModel:
    """Everything needed to choose by features without being told who fitted it."""

    scorers: tuple[tuple[Scorer, float], ...]
    """With their weights in the mean of log chances."""
    calibration: LinearScorer | None = None
    """Log odds that the chosen answer is right, from its features, its log odds in the pool, and 1; None: unknown."""
    fitted_on: tuple[str, ...] = FORM_FEATURES.names
    """The features that it looks at, by name; a later version may compute others besides."""
    extra: tuple[str, ...] = ()
    """Names of columns beyond the features that a stack adds, behind all of them."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Summary of the fit: data, questions, settings, held-out figures."""
    columns: FeatureSet = FORM_FEATURES
    """All that is computed, of which it may look at some."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.fitted_on + self.extra

    def looked_at(self, values: Floats) -> Floats:
        """The columns that it was fitted on, of all that are computed (``columns`` and the extra ones)."""
        computed = self.columns.names
        if self.fitted_on == computed:
            return values
        place = {name: place for place, name in enumerate(computed + self.extra)}
        # Rows lie together again, so that sums run in the order that they were fitted in.
        return np.ascontiguousarray(values[:, [place[name] for name in self.names]])

    def confidence(self, values: Floats, chance: float) -> float | None:
        """Calibrated chance that the chosen row is right; ``values`` are its columns as they are computed."""
        if self.calibration is None:
            return None
        row = calibration_row(self.looked_at(values[None])[0], chance)
        return float(1 / (1 + math.exp(-max(float(self.calibration.scores(row[None])[0]), _LOWEST_ODDS))))


def calibration_row(values: Floats, chance: float) -> NDArray[np.float64]:
    """What the calibration looks at: the winner's features, the log odds of its chance in the pool, and 1."""
    chance = min(max(chance, 1 - _HIGHEST_CHANCE), _HIGHEST_CHANCE)
    return np.concatenate([np.asarray(values, np.float64), [math.log(chance / (1 - chance)), 1.0]])


@dataclass(frozen=True, slots=True)
class Choice:
    """A pool's forms with their chances, and what is chosen."""

    chances: NDArray[np.float64]
    """Per form, summing to one."""
    group: int
    row: int
    """The form that is returned: the likeliest of its group."""


def choose(model: FeatureModel, table: FeatureTable) -> Choice:
    """The likeliest group, and its likeliest form; ties go to the first."""
    chances = np.exp(log_chances(model.scorers, model.looked_at(table.values)))
    by_group: dict[int, float] = {}
    groups, held = table.groups.tolist(), chances.tolist()
    for group, chance in zip(groups, held, strict=True):
        by_group[group] = by_group.get(group, 0.0) + chance
    best = min(by_group, key=lambda group: (-by_group[group], group))
    rows = [row for row, group in enumerate(groups) if group == best]
    return Choice(chances, best, max(rows, key=held.__getitem__))


def save_model(model: FeatureModel, folder: str | Path, kind: str) -> None:
    """Write the folder of a selector of this kind; each file appears whole or not at all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "format": FORMAT,
        "kind": kind,
        "features": model.columns.version,
        "names": list(model.names),
        "equality": model.columns.equality,
        "scorers": [{"kind": scorer.kind, "weight": weight} for scorer, weight in model.scorers],
        "is_calibrated": model.calibration is not None,
        "training": dict(model.training),
    }
    parts = {str(place): scorer.arrays() for place, (scorer, _) in enumerate(model.scorers)}
    if model.calibration is not None:
        parts["calibration"] = model.calibration.arrays()
    arrays = {f"{part}.{name}": array for part, found in parts.items() for name, array in found.items()}
    with weights_file(folder / WEIGHTS_FILE) as draft:
        save_file(arrays, draft)
    write_description(folder / MODEL_FILE, about, WEIGHTS_FILE)


def load_model(folder: str | Path, extras: tuple[str, ...] = (), columns: FeatureSet = FORM_FEATURES) -> FeatureModel:
    """Read and check a folder written by ``save_model``; ``extras`` are columns that it may have besides features."""
    folder = Path(folder)
    path = folder / MODEL_FILE
    about = _about(path)
    names = tuple(about["names"])
    known = columns.names
    fitted_on = tuple(name for name in names if name in known)
    extra = names[len(fitted_on) :]
    if about.get("features") != columns.version or set(extra) - set(extras) or names != fitted_on + extra:
        unknown = ", ".join(name for name in names if name not in (*known, *extras))
        raise CheckpointError(
            f"{path}: fitted on features of version {about.get('features')}, this version computes {columns.version}"
            f"{f' and does not know {unknown}' if unknown else ''}; fit again"
        )
    if about.get("equality") != columns.equality:
        raise CheckpointError(
            f"{path}: equality {about.get('equality')!r} is unknown; this version knows {columns.equality!r}"
        )
    arrays = _arrays(folder / WEIGHTS_FILE)
    try:
        scorers = tuple(
            (_scorer(item["kind"], _part(arrays, str(place)), len(names)), _weight(item["weight"]))
            for place, item in enumerate(about["scorers"])
        )
        if not scorers:
            raise ValueError("there is no scorer")
        calibration = _linear(_part(arrays, "calibration"), len(names) + 2) if about["is_calibrated"] else None
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder}: {MODEL_FILE} and {WEIGHTS_FILE} do not fit: {error}") from None
    return FeatureModel(scorers, calibration, fitted_on, extra, about.get("training") or {}, columns)


def _about(path: Path) -> dict[str, Any]:
    about = read_description(path, FORMAT, "feature selector", WEIGHTS_FILE)
    if not isinstance(about.get("names"), list) or not all(isinstance(name, str) for name in about["names"]):
        raise CheckpointError(f"{path}: 'names' is no list of feature names")
    return about


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        return load_file(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; the selector is incomplete") from None
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: damaged: {error}") from None


def _part(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    return {name.partition(".")[2]: array for name, array in arrays.items() if name.partition(".")[0] == part}


def _weight(value: object) -> float:
    if not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"a scorer's weight is {value!r}")
    return float(value)


def _scorer(kind: str, arrays: Mapping[str, NDArray[Any]], width: int) -> Scorer:
    if kind == "linear":
        return _linear(arrays, width)
    if kind == "trees":
        return TreeScorer(Trees.of_arrays(arrays, 2 * width))
    raise ValueError(f"scorers of kind {kind!r} are unknown")


def _linear(arrays: Mapping[str, NDArray[Any]], width: int) -> LinearScorer:
    scorer = LinearScorer(arrays["center"], arrays["scale"], arrays["weights"])
    for name, array in scorer.arrays().items():
        if array.shape != (width,) or not np.isfinite(array).all():
            raise ValueError(f"{name!r} must be {width} finite numbers")
    if (scorer.scale <= 0).any():
        raise ValueError("'scale' must be positive")
    return scorer
