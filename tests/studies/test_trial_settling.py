"""The trial's steps that settle pools, against a scripted server: what becomes a column."""

from pathlib import Path
from typing import Any

from studies.trial.rollouts import Made
from studies.trial.settling import SETTLING, pools
from studies.trial.steps import Trial, table
from tests.builders import ranked, rollout
from tests.chat.scripted import last_text
from tests.model_server import Reply, Server, said
from tracerank.pools.types import Question

QUESTION = Question("q", "What is the capital of France?", ("Paris",))


def replies(request: dict[str, Any]) -> Reply:
    """What a model that follows instructions would write."""
    text = last_text(request)
    for mark, reply in (
        ("Verdict: CORRECT", "Short answer: Lyon\nVerdict: INCORRECT"),
        ("one word: YES or NO", "YES"),
        ("Confidence: N", "Confidence: 80"),
        ("report tags", "<report>It read that Paris is it.</report>"),
        ("answer tags", "<answer>Paris</answer>"),
        ("tool call alone", '{"name": "finish", "arguments": {"solution": "Exact Answer: Paris", "reason": "r"}}'),
    ):
        if mark in text:
            return said(reply)
    raise AssertionError(text)


def trial(folder: Path, address: str) -> Trial:
    made = {
        style: Made(tuple((QUESTION, rollout(answer, ranked("q", f"{answer} is it"))) for answer in answers), 1.0)
        for style, answers in (("tags", ("Lyon", "Paris")), ("tools", ("Paris", "Paris", None)))
    }
    return Trial(address, folder, (QUESTION,), 2, made)


def test_rollouts_of_both_ranked_styles_make_one_pool(tmp_path: Path) -> None:
    [pool] = pools(trial(tmp_path, "http://localhost:1"))
    assert [(one.sample_id, one.answer) for one in pool.rollouts] == list(
        enumerate(["Lyon", "Paris", "Paris", "Paris", None])
    )


def test_every_method_gives_a_row_of_the_one_table(tmp_path: Path) -> None:
    server = Server()
    server.rule = replies
    try:
        rows = [step(trial(tmp_path, server.url)) for step in SETTLING.values()]
    finally:
        server.close()
    found = {row.step: (row.asked, row.answered, row.malformed, row.forced, row.right) for row in rows}
    assert found == {
        "vote": (1, 1, None, None, 1),
        "solagg": (1, 1, 0, None, 1),
        "summagg": (1, 1, 0, None, 1),
        "aggagent": (1, 1, 0, 0, 1),
        "verifier": (1, 1, 0, None, 0),  # all alike: the first
        "confidence": (1, 1, 0, None, 1),
        "judge": (1, 1, 0, None, 1),  # Lyon, which our rule calls wrong, too
    }
    assert all(row.tokens for row in rows if row.step not in ("vote", "judge"))
    assert "| aggagent | 1 | - | 1 (100%) | 0 | 0 (0%) |" in table(rows)
