"""Decisions, dumps and the small network's numbers are those that were frozen."""

import gzip
import json
from typing import Any

import numpy as np
import pytest

from tests.gates.frozen import (
    ANSWERS,
    DECISIONS,
    DUMPS,
    METHODS,
    REAL,
    SETTINGS,
    WORLDS,
    answer_sets,
    decisions,
    dump_digest,
    own_pools,
    read_answers,
    read_layout,
    real_pools,
    sample_dumps,
    sdk_layouts,
)
from tests.shared_data import needs_rollouts
from tracerank.pools.pool import Pool

FROZEN: dict[str, Any] = json.loads(gzip.decompress(DUMPS.read_bytes()))
OWN = (*WORLDS, *(f"golden-{setting}" for setting in SETTINGS))


@pytest.fixture(scope="module")
def own() -> dict[str, list[Pool]]:
    return own_pools()


def check_decisions(name: str, pools: list[Pool]) -> None:
    with np.load(DECISIONS) as frozen:
        for method in METHODS:
            digests, confidences = decisions(pools, method)
            changed = np.flatnonzero(digests != frozen[f"{name}/{method}/digest"])
            assert not len(changed), f"{method}: {len(changed)} of {len(digests)} decisions changed, e.g. {changed[:5]}"
            np.testing.assert_allclose(confidences, frozen[f"{name}/{method}/confidence"], atol=1e-6, err_msg=method)


@pytest.mark.parametrize("name", OWN)
def test_decisions_on_our_own_pools_are_the_frozen_ones(name: str, own: dict[str, list[Pool]]) -> None:
    check_decisions(name, own[name])
    assert dump_digest(own[name]) == FROZEN["digests"][name]


@needs_rollouts
@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_decisions_on_real_rollouts_are_the_frozen_ones(name: str) -> None:
    pools = real_pools(name)
    assert dump_digest(pools) == FROZEN["digests"][name]
    check_decisions(name, pools)


def test_answers_are_read_as_frozen() -> None:
    frozen = json.loads(ANSWERS.read_text(encoding="utf-8"))
    changed = [asked for asked, digest in zip(answer_sets(), frozen, strict=True) if read_answers(*asked) != digest]
    assert not changed, f"{len(changed)} of {len(frozen)}, e.g. {changed[:3]}"


@pytest.mark.parametrize(("name", "unpack"), [pytest.param(*row, id=row[0]) for row in sdk_layouts()])
def test_logs_of_sdks_are_read_as_frozen(name: str, unpack: Any) -> None:
    assert read_layout(unpack) == FROZEN["dumps"][name]


def test_one_record_of_every_format_is_read_as_frozen() -> None:
    for name, found in sample_dumps().items():
        assert found == FROZEN["dumps"][name], name


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_small_network_computes_the_frozen_numbers(setting: str) -> None:
    pytest.importorskip("torch")
    from tests.gates.network import ENCODER, folder_of, learned
    from tracerank.trace.selector import TraceSelector

    found = learned(TraceSelector.load(folder_of(setting), ENCODER), setting)
    with np.load(DECISIONS.with_name("network.npz")) as frozen:
        names = {name.removeprefix(f"{setting}/") for name in frozen.files if name.startswith(setting)}
        assert names == set(found)
        for name in sorted(names):
            np.testing.assert_allclose(found[name], frozen[f"{setting}/{name}"], atol=1e-5, rtol=1e-4, err_msg=name)
