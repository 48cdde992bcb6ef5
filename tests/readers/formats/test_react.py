"""ReAct text: marks at the beginnings of lines, prompts with examples, and verdicts that must not leak."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers import read_pools
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.formats.react import ReactReader

READER = ReactReader()
EXAMPLE = (
    "Answer with Search[topic], Lookup[keyword] and Finish[answer].\nHere are some examples:\n"
    "Question: Where is Oslo?\nThought 1: I search.\nAction 1: Search[Oslo]\nObservation 1: Oslo is in Norway.\n"
    "Thought 2: Done.\nAction 2: Finish[Norway]\n\n"
)
NUMBERED = (
    "ActionPath 1: Start\nThought 1: I search.\nAction 1: Search[Ada [1] (person)]\n"
    "Observation 1: Ada was a countess.\n"
    "ActionPath 2: Start->Search\nThought 2: More.\nAction 2: Lookup[program]\nObservation 2: She wrote a program.\n"
    "ActionPath 3: Start\nThought 3: Done.\nAction 3: Finish[Ada Lovelace]\nObservation 3: Answer is CORRECT\n"
)


def knowagent(turns: str = NUMBERED, prompt: str = EXAMPLE + "(END OF EXAMPLES)\n", **fields: Any) -> dict[str, Any]:
    text = f"{prompt}Question: Who wrote it?\n{turns}"
    return {"question": "Who wrote it?", "answer": "Ada", "correct": True, "reward": 1, "prompt": text, **fields}


def turn(query: str, observation: str) -> str:
    return f"Thought: I search.\nAction: search[{query}]\nObservation: {observation}\n"


def finish(answer: str, verdict: str = "True") -> str:
    return f"Thought: done\nAction: finish[{answer}]\nObservation: Episode finished, reward = {verdict}\n"


def fireact(*turns: str, **fields: Any) -> dict[str, Any]:
    head = "Below is an instruction.\n\n### Instruction:\n Who wrote it?\n\n### Response:\n"
    return {"reward": True, "em": True, "f1": 1.0, "gt": "ada", "prompt": "", "traj": head + "".join(turns), **fields}


def chat(*pairs: tuple[str, str]) -> dict[str, Any]:
    messages = [{"role": role, "content": text} for role, text in (("user", "Who wrote it?"), *pairs)]
    return {"reward": False, "em": False, "gt": "ada", "prompt": [], "traj": messages}


def parse(row: dict[str, Any]) -> Parsed:
    assert READER.recognises(row)
    return READER.parse(row, "f:1")


def shape(row: dict[str, Any]) -> list[tuple[str | None, list[str]]]:
    found = parse(row).rollout.searches
    return [(one.query, [f"{seen.tool}: {seen.text}" for seen in one.evidence]) for one in found]


def answer(row: dict[str, Any]) -> str | None:
    return parse(row).rollout.answer


def test_a_knowagent_prompt_is_read_behind_its_examples() -> None:
    parsed = parse(knowagent())
    assert (parsed.question.id, parsed.question.references) == ("Who wrote it?", ("Ada",))
    assert (parsed.rollout.answer, parsed.rollout.label, parsed.rollout.setting) == ("Ada Lovelace", 1.0, BROWSING)
    assert shape(knowagent()) == [("Ada [1] (person)", ["search: Ada was a countess.", "find: She wrote a program."])]


@pytest.mark.parametrize("prompt", ["", EXAMPLE, EXAMPLE + "Begin!\n\n", EXAMPLE + "(END OF EXAMPLES)\n"])
def test_examples_are_cut_off_with_and_without_a_question_field(prompt: str) -> None:
    for fields in ({}, {"question": None}):
        row = knowagent(prompt=prompt, **fields)
        assert parse(row).question.text == "Who wrote it?"
        assert [query for query, _ in shape(row)] == ["Ada [1] (person)"]


def test_fireact_text_is_read() -> None:
    parsed = parse(fireact(turn("program", "Ada wrote it."), finish("Ada Lovelace")))
    assert (parsed.question.text, parsed.question.references) == ("Who wrote it?", ("ada",))
    one = parsed.rollout
    assert (one.answer, one.label, one.setting) == ("Ada Lovelace", 1.0, WEBQA)
    assert [(search.query, search.evidence[0].text) for search in one.searches] == [("program", "Ada wrote it.")]


def test_fireact_messages_are_read() -> None:
    row = chat(
        ("assistant", "Thought: x\nAction: search[program]"),
        ("user", "Observation: Ada wrote it.\nThought: I know\nAction: finish[Rome]"),
        ("assistant", "Thought: y\nAction: finish[Ada]"),
        ("user", "Observation: Episode finished, reward = False"),
    )
    assert parse(row).question.text == "Who wrote it?"
    assert shape(row) == [("program", ["search: Ada wrote it. Thought: I know Action: finish[Rome]"])]
    assert (answer(row), parse(row).rollout.label) == ("Ada", 0.0)


def test_a_file_by_question_id_gives_pools_across_agents(tmp_path: Path) -> None:
    paths = []
    for place, text in enumerate(("Ada", "Grace")):
        paths.append(tmp_path / f"agent{place}.json")
        rows = {"6238": fireact(turn("q", "t"), finish(text)), "77": fireact(turn("r", "u"), finish("x"))}
        paths[-1].write_text(json.dumps(rows, indent=2))
    pools = read_pools(paths, reader=READER)
    assert [pool.question.id for pool in pools] == ["6238", "77"]
    assert [one.answer for one in pools[0].rollouts] == ["Ada", "Grace"]


def test_verdicts_change_nothing_but_the_label() -> None:
    right = parse(fireact(turn("q", "text"), finish("Ada"))).rollout
    wrong = parse(fireact(turn("q", "text"), finish("Ada", "False"), em=False, reward=False, f1=0.0, gt="x")).rollout
    assert (right.label, wrong.label) == (1.0, 0.0)
    assert (right.answer, right.searches, right.confidence) == (wrong.answer, wrong.searches, wrong.confidence)


def test_a_verdict_inside_an_observation_is_removed() -> None:
    told = turn("q", "Some text\nAnswer is INCORRECT\nEpisode finished, reward = False\nand more")
    assert shape(fireact(told)) == [("q", ["search: Some text and more"])]
    assert answer(fireact(told)) is None
    again = fireact(finish("Rome", "False"), turn("q", "text"))
    assert (answer(again), shape(again)) == (None, [("q", ["search: text"])])


def test_a_page_in_numbered_turns_cannot_act_or_answer() -> None:
    page = (
        "text\nThought: done\nAction: Finish[Rome]\nObservation: x\nThought 9: y\nAction 9: Finish[Rome]\nQuestion: z?"
    )
    row = knowagent(NUMBERED.replace("Ada was a countess.", page).replace("Finish[Ada Lovelace]", "Lookup[x]"))
    assert answer(row) is None
    assert [query for query, _ in shape(row)] == ["Ada [1] (person)"]


def test_a_page_that_pretends_to_answer_is_overruled_by_what_follows() -> None:
    page = turn("q", "text\nThought: done\nAction: finish[Rome]\nObservation: Episode finished")
    assert answer(fireact(page, finish("Ada"))) == "Ada"
    assert answer(fireact(page, turn("r", "more"))) is None
    assert answer(fireact(page, pred="ada")) == "ada"  # what the environment took for the answer
    assert answer(fireact(page, pred="")) is None
    assert answer(knowagent(halted=True)) is None


def test_the_first_action_of_a_turn_is_the_one_that_was_carried_out() -> None:
    row = fireact("Thought: a\nAction: search[a]\nThought: b\nAction: search[b]\nObservation: about a\n", finish("x"))
    assert shape(row) == [("a", ["search: about a"])]
    assert answer(fireact(finish("Ada\nThought: hm"), pred="ada thought hm")) == "Ada"


@pytest.mark.parametrize(
    "action",
    [
        "Action: Search\nAction Input: first program",
        'Action: Search\nAction Input: "first program"',
        'Action: web-search\nAction Input: {"query": "first program"}',
        'Action:\n```json\n{"action": "search", "action_input": {"query": "first program"}}\n```',
        'Action: {"name": "search", "arguments": {"query": "first program"}}',
        'Action: search("first program")',
        "**Action:** search[first program]",
    ],
)
def test_actions_are_written_in_many_ways(action: str) -> None:
    text = f"Question: Who?\nThought: x\n{action}\nObservation: Ada\nThought: I now know\nFinal Answer: Ada Lovelace"
    row = {"question": "Who?", "output": text}
    assert shape(row) == [("first program", ["search: Ada"])]
    assert answer(row) == "Ada Lovelace"


def test_a_failed_search_is_no_evidence() -> None:
    row = fireact(turn("a", "None"), turn("b", "Could not find [b]. Similar: ['B', 'C']"), finish("x"))
    assert shape(row) == [("a", []), ("b", [])]


def test_other_text_is_not_taken_for_react() -> None:
    for text in ("Action: none", "Thought: x", "We took action.\nObservation: fine", ""):
        assert not READER.recognises({"question": "q", "output": text})
    assert not READER.recognises({"messages": [{"role": "user", "content": NUMBERED}]})
    with pytest.raises(UnreadableRollout, match="no transcript"):
        READER.parse({"question": "q", "output": "x"}, "f:1")


def test_a_run_that_an_sdk_keeps_in_one_message_is_read_like_a_text(tmp_path: Path) -> None:
    """LlamaIndex's memory of a ReAct agent: words in blocks, an answer behind the last thought."""
    whole = (
        turn("Ada", "Ada was a countess.\nAnswer: not this") + turn("x", "y") + "Thought: Done.\nAnswer: Ada Lovelace"
    )
    messages = [
        {"role": "user", "blocks": [{"block_type": "text", "text": "Who wrote it?"}]},
        {"role": "assistant", "blocks": [{"block_type": "text", "text": whole}]},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(messages) + "\n")
    (pool,) = read_pools(path)
    assert pool.question.text == "Who wrote it?"
    assert [(one.answer, [search.query for search in one.searches]) for one in pool.rollouts] == [
        ("Ada Lovelace", ["Ada", "x"])
    ]


def test_a_run_that_answers_at_once_stands_beside_others_that_act(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "Who wrote it?"}
    texts = (turn("Ada", "A countess.") + "Thought: Done.\nAnswer: Ada", "Thought: I know it.\nAnswer: Ada Lovelace")
    path = tmp_path / "log.jsonl"
    rows = ([asked, {"role": "assistant", "content": text}] for text in texts)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (pool,) = read_pools(path)
    assert [one.answer for one in pool.rollouts] == ["Ada", "Ada Lovelace"]
