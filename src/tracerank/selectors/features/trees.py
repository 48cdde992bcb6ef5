"""Boosted trees as plain arrays, walked with numpy. Fitting is done elsewhere, with a library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
