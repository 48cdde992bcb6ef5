"""Trees walked by numpy against LightGBM's own predictions."""

import numpy as np
import pytest

from tracerank.selectors.features.model import Trees, trees_of_dump

lightgbm = pytest.importorskip("lightgbm")


def with_gaps(seed: int, rows: int = 400, width: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, width))
    values[:, 1] = np.round(values[:, 1])  # many zeros
    right = (np.nan_to_num(values[:, 0]) + values[:, 1] + rng.normal(size=rows) > 0).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:, 5] = rng.normal(size=rows)  # never missing while fitting
    return values, right


def boosted(**settings: object) -> "lightgbm.Booster":
    values, right = with_gaps(0)
    given = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, **settings}
    return lightgbm.train(given, lightgbm.Dataset(values, right, params={"verbose": -1}), 30)


@pytest.mark.parametrize("settings", [{}, {"zero_as_missing": True}, {"use_missing": False}, {"num_leaves": 2}])
def test_trees_predict_as_lightgbm_does_also_where_values_are_missing(settings: dict[str, object]) -> None:
    booster = boosted(**settings)
    values, _ = with_gaps(1)
    values[::7, 5] = np.nan
    values[::5, 0] = 0.0
    ours = trees_of_dump(booster.dump_model()).scores(values)
    np.testing.assert_allclose(ours, booster.predict(values, raw_score=True), atol=1e-6)


def test_a_tree_without_a_split_is_its_leaf() -> None:
    booster = boosted(min_data_in_leaf=10_000)
    values, _ = with_gaps(1)
    ours = trees_of_dump(booster.dump_model()).scores(values)
    np.testing.assert_allclose(ours, booster.predict(values, raw_score=True), atol=1e-6)


def test_no_rows_have_no_scores() -> None:
    assert trees_of_dump(boosted().dump_model()).scores(np.zeros((0, 6))).shape == (0,)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda array: np.zeros_like(array)),
        ("right", lambda array: array * 0 + len(array) + 7),
        ("feature", lambda array: array + 6),
        ("leaves", lambda array: array * np.nan),
        ("threshold", lambda array: array[:-1]),
        ("roots", lambda array: array * 0 - 100_000),
    ],
)
def test_damaged_trees_are_refused(name: str, change: object) -> None:
    arrays = trees_of_dump(boosted().dump_model()).arrays()
    arrays[name] = change(arrays[name])  # type: ignore[operator]
    with pytest.raises(ValueError, match="tree"):
        Trees.of_arrays(arrays, 6)
