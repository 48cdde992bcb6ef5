"""Fitting from Python: pools in, a folder out that ``load_selector`` takes."""

from pathlib import Path

import pytest

from tests.builders import pool
from tests.fitting.test_ladder import cited
from tracerank.embedding.base import HashEmbedder
from tracerank.errors import UsageError
from tracerank.fitting.fit import Fitting, pools_to_fit
from tracerank.fitting.folder import FitFolder
from tracerank.methods import load_selector

pytest.importorskip("scipy")


def test_a_selector_is_fitted_saved_and_reported(tmp_path: Path) -> None:
    done: list[str] = []
    fitting = Fitting(pools_to_fit(cited(40)), FitFolder(tmp_path / "mine", {}), folds=2)
    report = fitting.run(done.append)
    assert len(done) == fitting.work
    assert report["winner"] == "shipped"
    assert FitFolder(tmp_path / "mine", {}).finished == report
    asked = cited(1, seed=7)[0]
    assert load_selector(tmp_path / "mine").decide(asked).sample_id is not None


def test_rungs_that_read_texts_are_there_only_with_an_embedder(tmp_path: Path) -> None:
    data = pools_to_fit(cited(8))
    without, beside = (
        [rung.name for rung in Fitting(data, FitFolder(tmp_path / "f", {}), embedder).ladder.rungs]
        for embedder in (None, HashEmbedder(8))
    )
    assert without == ["shipped", "meaning", "features", "features-boosted"]
    assert beside[:4] == without
    assert beside[4:] == ["trace-marks", "trace-paper", "trace-plus", "stack"]


def test_pools_without_a_label_are_refused_and_the_rule_decides_what_a_label_is() -> None:
    with pytest.raises(UsageError, match="not one of 2 questions is labelled"):
        pools_to_fit([pool("a", "b"), pool("c")])
    [judged] = cited(1)
    with pytest.raises(UsageError, match="not one of 1"):
        pools_to_fit([judged], "em")  # has labels, but no references to compare with
    assert pools_to_fit([judged], "given").pools
