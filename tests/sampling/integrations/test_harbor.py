"""The plugin on a job folder that a real Harbor wrote; ``tests/readers/sdk_logs/harbor_job.py`` runs it in one.

Harbor needs Python 3.12 or later, so it cannot be installed beside the rest.
"""

import asyncio
import json
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.readers.sdk_logs.questions import QUESTIONS
from tracerank.errors import UsageError
from tracerank.readers import read_pools
from tracerank.readers.sources.trial_folders import DECISIONS
from tracerank.sampling.integrations.harbor import SelectionPlugin

PACKED = Path(__file__).parents[2] / "readers" / "sdk_logs" / "fixtures" / "harbor" / "job.tar.gz"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    with tarfile.open(PACKED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "job"


def decisions(job: Path, **options: str) -> list[dict[str, Any]]:
    plugin = SelectionPlugin(**options)

    async def run() -> None:
        await plugin.on_job_start(SimpleNamespace(job_dir=job))
        await plugin.on_job_end(SimpleNamespace())

    asyncio.run(run())
    return [json.loads(line) for line in (job / DECISIONS).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("options", [{}, {"method": "majority"}])
def test_a_decision_a_task_names_the_trial_of_the_chosen_rollout(job: Path, options: dict[str, str]) -> None:
    pools = read_pools(job)
    rows = decisions(job, **options)
    assert len(rows) == 2
    for row, question, pool in zip(rows, QUESTIONS, pools, strict=False):
        assert row["question"] == question.text
        assert len(pool) > 1
        [chosen] = [one for one in pool.rollouts if one.sample_id == row["sample_id"]]
        assert row["answer"] == chosen.answer
        assert chosen.source is not None
        assert chosen.source.startswith(f"{job / row['trial']}/")
        assert (job / row["trial"] / "result.json").exists()
    assert [len(pool) for pool in read_pools(job)] == [len(pool) for pool in pools]  # decisions are not rollouts


def test_rewards_do_not_reach_the_decision(job: Path) -> None:
    before = decisions(job)
    for path in job.glob("*/result.json"):
        path.write_text(path.read_text().replace('"reward": 1.0', '"reward": 0.0'))
    assert decisions(job) == before


def test_an_unknown_method_is_refused_before_the_job_starts() -> None:
    with pytest.raises(UsageError, match="nobody"):
        SelectionPlugin(method="nobody")
