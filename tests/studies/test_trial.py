"""The trial of a chat model, tried with a scripted server: what is counted, and what a second attempt does not redo."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studies.trial.__main__ import STEPS
from studies.trial.almanac import Almanac
from studies.trial.rollouts import drawn_questions, is_forced, make_rollouts, misses
from studies.trial.steps import Row, Trial, run_steps, table
from tests.model_server import Reply, Server, said


def searches_once(request: dict[str, Any]) -> Reply:
    turns = [message["role"] for message in request["messages"]]
    asked = next(message["content"] for message in request["messages"] if message["role"] == "user")
    if "assistant" not in turns:
        is_tags = "<search>" in asked
        call = '```json\n{"name": "search", "arguments": {"query": "river"}}\n```'
        return said("<search>river</search>" if is_tags else call)
    return said("<answer>Volga</answer>")


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server(searches_once)
    yield running
    running.close()


def test_a_style_is_tried_counted_and_not_tried_again(server: Server, tmp_path: Path) -> None:
    trial, steps = Trial.of(server.url, tmp_path, 2, 2), {name: STEPS[name] for name in ("tags", "tools")}
    [tags, tools] = run_steps(trial, steps)
    assert (tags.step, tags.asked, tags.searched, tags.answered) == ("rollouts: tags", 4, 4, 4)
    assert (tools.searched, tools.answered, tools.malformed, tools.forced) == (4, 4, 0, 0)
    asked = len(server.requests)
    assert asked == 16
    assert run_steps(Trial.of(server.url, tmp_path, 2, 2), steps) == [tags, tools]
    assert len(server.requests) == asked
    assert len((tmp_path / "tags.jsonl").read_text().splitlines()) == 4


def test_rollouts_go_on_after_a_kill_and_grow_with_the_trial(server: Server, tmp_path: Path) -> None:
    almanac = Almanac.indexed_in(tmp_path / "almanac")
    path = tmp_path / "tags.jsonl"
    make_rollouts(server.url, "m", "tags", drawn_questions(almanac, 1), 2, path)
    part = tmp_path / "tags.jsonl.part"
    with open(part, "ab") as file:
        file.write(b'{"question_id": "half a li')
    made = make_rollouts(server.url, "m", "tags", drawn_questions(almanac, 2), 3, path)
    assert len(server.requests) == 2 * 6  # none of the first two was made again
    assert [rollout.sample_id for _, rollout in made.rollouts] == [0, 1, 2] * 2
    smaller = make_rollouts(server.url, "m", "tags", drawn_questions(almanac, 1), 2, path)
    assert len(smaller.rollouts) == 2
    notes = tmp_path / "tags.jsonl.notes"
    notes.write_text(json.dumps(json.loads(notes.read_text()) | {"agent": "tags@other"}))
    with pytest.raises(SystemExit, match="another agent"):
        make_rollouts(server.url, "m", "tags", drawn_questions(almanac, 1), 2, path)


def test_misses_and_forced_answers_are_seen_in_the_conversation(tmp_path: Path) -> None:
    server = Server(lambda request: said("Well."))
    try:
        trial = Trial.of(server.url, tmp_path, 1, 1)
        [row] = run_steps(trial, {"tags": STEPS["tags"]})
        [(_, rollout)] = trial.rollouts("tags").rollouts
    finally:
        server.close()
    assert (row.malformed, row.forced, row.answered, row.right) == (3, 1, 0, 0)
    assert (misses(rollout), is_forced(rollout)) == (3, True)


def test_a_table_says_what_does_not_apply() -> None:
    text = table(
        [Row("rollouts: tags", 8, 6, 8, 1, 2, 31.4, 12.6, 4), Row("judge", 5, None, 5, None, None, None, 1, 3)]
    )
    assert "| rollouts: tags | 8 | 6 (75%) | 8 (100%) | 1 | 2 (25%) | 31 | 13 | 4 (50%) |" in text
    assert "| judge | 5 | - | 5 (100%) | - | - | - | 1 | 3 (60%) |" in text
    assert list(STEPS)[:4] == ["tags", "tools", "browser", "vote"]
    assert {"solagg", "summagg", "aggagent", "verifier", "confidence", "judge"} <= set(STEPS)
