"""Questions a second from raw JSON Lines to pools, 16 rollouts each, on one core."""

import json
import tempfile
from pathlib import Path

from studies.speed.measure import best_of
from studies.speed.paper_pools import webqa_pools
from tracerank.answers.exact import normalize_text
from tracerank.readers import iter_pools

QUESTIONS = 400
CHUNK_WORDS = 100
"""A chunk is about 600 characters, as Wikipedia passages of a hundred words are."""


def webqa_questions_per_second() -> float:
    """Official WebQA rows with 16 rollouts of about 4.8 chunks each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        _write_rows(path)
        seconds = best_of(lambda: sum(1 for _ in iter_pools(path)), rounds=3)
    return QUESTIONS / seconds


def _write_rows(path: Path) -> None:
    filler = " ".join(f"word{number:03d}" for number in range(CHUNK_WORDS - 10))[:580]
    with path.open("w", encoding="utf-8") as file:
        for pool in webqa_pools(QUESTIONS, rollouts=16):
            for rollout in pool.rollouts:
                steps = []
                for search in rollout.searches:
                    steps.append({"action": "think", "content": filler[:200]})
                    docs = (f"Doc {e.rank} {normalize_text(e.text)} {filler}" for e in search.evidence)
                    steps.append({"action": "search", "content": search.query, "search_result": "\n".join(docs)})
                row = {
                    "question_index": int(pool.question.id),
                    "question": pool.question.text,
                    "golden_answers": ["answer"],
                    "sample_id": rollout.sample_id,
                    "answer": rollout.answer,
                    "steps": steps,
                }
                file.write(json.dumps(row) + "\n")
