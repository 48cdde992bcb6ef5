"""Questions a second from raw JSON Lines to pools, 16 rollouts each, on one core."""

import tempfile
from pathlib import Path

from studies.speed.measure import best_of
from studies.speed.paper_pools import webqa_pools
from studies.speed.raw_logs import browsing_records, webqa_records, write_records
from tracerank.readers import iter_pools

QUESTIONS = 400
BROWSED = 32


def webqa_questions_per_second() -> float:
    """Official WebQA rows with 16 rollouts of about 4.8 chunks each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        write_records(path, webqa_records(webqa_pools(QUESTIONS, rollouts=16)))
        return QUESTIONS / best_of(lambda: sum(1 for _ in iter_pools(path)), rounds=3)


def browsing_milliseconds_per_pool() -> float:
    """Browser rollouts at the paper's sizes, 0.9 MB a question."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollouts.jsonl"
        write_records(path, browsing_records(BROWSED))
        return best_of(lambda: sum(1 for _ in iter_pools(path)), rounds=3) / BROWSED * 1e3
