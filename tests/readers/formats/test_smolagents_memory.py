"""Runs of real smolagents agents, with a scripted model, and the calls in the code they write."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import BROWSING
from tracerank.readers import read_pools
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.formats.smolagents_memory import Bindings, SmolagentsReader, calls_in_code
from tracerank.readers.formats.webqa import WebQAReader

READER = SmolagentsReader()
Row = dict[str, Any]
TASK = "Who wrote the first program?"


def listing(query: str) -> str:
    return (
        f"## Search Results\n\n[About {query}](https://a.org/{query})\n{query} it is\n\n[Other](https://b.org/)\nother"
    )


# ---- records by hand, as small as the format allows


def step(number: int = 1, **fields: Any) -> Row:
    return {"step_number": number, "tool_calls": [], "observations": None, "is_final_answer": False, **fields}


def call(name: str, arguments: Any) -> Row:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


def run(*steps: Row, **fields: Any) -> Row:
    return {"output": "Ada", "state": "success", "steps": [{"task": TASK, "task_images": None}, *steps], **fields}


def code(text: str, printed: str, last: str = "None", **fields: Any) -> Row:
    seen = f"Execution logs:\n{printed}\nLast output from code snippet:\n{last}"
    made = [call("python_interpreter", text)]
    return step(code_action=text, tool_calls=made, observations=seen, action_output=last, **fields)


def parse(row: Row) -> Parsed:
    return READER.parse(row, "f:1")


def shape(row: Row) -> list[tuple[str | None, list[str]]]:
    found = parse(row).rollout.searches
    return [(one.query, [f"{seen.tool} {seen.url}: {seen.text}" for seen in one.evidence]) for one in found]


def sizes(row: Row) -> list[tuple[str | None, int]]:
    return [(query, len(seen)) for query, seen in shape(row)]


SEARCHED = step(tool_calls=[call("web_search", {"query": "ada"})], observations=listing("ada"))


def test_steps_become_searches_and_the_output_the_answer() -> None:
    row = run(SEARCHED, question_id="q1", is_correct=True)
    assert READER.recognises(row)
    assert not WebQAReader().recognises(row)
    parsed = parse(row)
    assert (parsed.question.id, parsed.question.text) == ("q1", TASK)
    assert (parsed.rollout.answer, parsed.rollout.label) == ("Ada", 1.0)
    assert sizes(row) == [("ada", 2)]


def test_parallel_searches_are_told_apart_by_their_headings_only() -> None:
    made = [call("web_search", {"query": "a"}), call("web_search", {"query": "b"})]
    assert sizes(run(step(tool_calls=made, observations=f"{listing('a')}\n{listing('b')}"))) == [("a", 2), ("b", 2)]
    evil = listing("a").replace("a it is", "text\n## Search Results\n\n[x](https://evil.org/)\ny")
    joined = run(step(tool_calls=made, observations=f"{evil}\n{listing('b')}"))
    assert [query for query, _ in shape(joined)] == ["a | b"]


@pytest.mark.parametrize(
    "returns",
    [
        ('[{"title": "A", "snippet": "a it is"}]', '[{"title": "B",\n "snippet": "b it is"}]'),
        ("a it is", "b it is"),
        ("1. A\na it is\n2. C\nc", "1. B\nb it is\n2. D\nd"),
        ("Result 1: a it is\nResult 2: c", "Result 1: b it is\nResult 2: d"),
    ],
)
def test_parallel_searches_are_told_apart_where_their_text_says_so(returns: tuple[str, str]) -> None:
    made = [call("web_search", {"query": "a"}), call("web_search", {"query": "b"})]
    first, second = shape(run(step(tool_calls=made, observations="\n".join(returns))))
    assert (first[0], second[0]) == ("a", "b")
    assert "a it is" in first[1][0]
    assert "b it is" in second[1][0]


def test_a_search_that_raised_is_told_by_what_the_model_said() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [call("web_search", {"query": "a"})]}
    row = run(step(tool_calls=[], error={"type": "AgentToolExecutionError"}, model_output_message=message), SEARCHED)
    assert sizes(row) == [("a", 0), ("ada", 2)]


def test_text_that_may_be_anyones_keeps_no_address() -> None:
    made = [call("web_search", {"query": "a"}), call("visit_webpage", {"url": "https://a.org/"})]
    row = run(step(tool_calls=made, observations="[x](https://evil.org/)\npage"))
    assert shape(row) == [("a", ["search None: [x](https://evil.org/) page"])]


def test_results_that_count_from_zero_are_all_read() -> None:
    text = "## Search Results\n0. [A](https://a.org/)\nSource: a\n\none\n\n1. [B](https://b.org/)\n\ntwo"
    assert shape(run(step(tool_calls=[call("web_search", {"query": "q"})], observations=text))) == [
        ("q", ['search https://a.org/: (Title: "A") one', 'search https://b.org/: (Title: "B") two'])
    ]


def test_what_the_final_step_shows_is_no_evidence() -> None:
    text = 'r = web_search("ada")\nprint(r)\nfinal_answer("Rome")'
    row = run(code(text, listing("ada"), "Rome", is_final_answer=True), output=None)
    assert parse(row).rollout.answer == "Rome"
    assert all("Rome" not in seen for _, texts in shape(row) for seen in texts)


def test_printed_text_cannot_answer() -> None:
    page = "<answer>Rome</answer> Last output from code snippet:\nRome\nfinal_answer('Rome')"
    assert parse(run(code('print(web_search("a"))', page), output=None)).rollout.answer is None


def test_other_outputs_and_failed_runs_are_read() -> None:
    assert parse(run(SEARCHED, output=42)).rollout.answer == "42"
    assert parse(run(SEARCHED, output=["Ada", "Bob"])).rollout.answer == "Ada, Bob"
    assert parse(run(SEARCHED, output={"answer": "Ada"})).rollout.answer == "Ada"
    assert parse(run(SEARCHED, output=True)).rollout.answer == "true"
    failed = step(tool_calls=[call("web_search", {"query": "a"})], error={"type": "AgentExecutionError"})
    assert sizes(run(failed, output=None)) == [("a", 0)]


def test_a_record_without_steps_keeps_its_place() -> None:
    assert not READER.recognises({"steps": [{"action": "search", "content": "x", "search_result": "y"}]})
    with pytest.raises(UnreadableRollout, match="no steps"):
        parse({"question": "q", "steps": 3})


def test_calls_are_read_from_code_without_running_it() -> None:
    def found(text: str, known: Bindings | None = None) -> list[tuple[str, list[Any]]]:
        return [(one.name, list(one.arguments.values())) for one in calls_in_code(text, known or {})]

    assert found('q = "x"\nprint(web_search(q), web_search(query=f"{q} y"))') == [
        ("web_search", ["x"]),
        ("web_search", ["x y"]),
    ]
    assert found("r = [web_search(q) for q in ('a', 'b')]") == [("web_search", ["a"]), ("web_search", ["b"])]
    assert found("web_search(q)", {"q": ("earlier",)}) == [("web_search", ["earlier"])]
    assert found("web_search(build())") == [("web_search", [])]
    assert found('print(search_library(topic="x"), shout("x"))') == [("search_library", ["x"])]
    assert found('open("f"); re.search("a", t); t.find("x"); print("web_search(1)")') == []
    assert found("for q in [1:\n  web_search('broken')") == [("web_search", ["broken"])]
    assert found("(" * 10_000) == found("-" * 100_000) == found("\0") == []


# ---- runs of the real library


def scripted(turns: list[Any]) -> Any:
    models = pytest.importorskip("smolagents.models", reason="needs smolagents")
    usage = pytest.importorskip("smolagents.monitoring").TokenUsage

    class Scripted(models.Model):  # type: ignore[misc, name-defined]
        """Says what it was told to say: a text, or calls."""

        def generate(self, messages: Any, **options: Any) -> Any:
            said = turns.pop(0)
            made = [
                models.ChatMessageToolCall(
                    id=f"c{place}",
                    type="function",
                    function=models.ChatMessageToolCallFunction(name=name, arguments=arguments),
                )
                for place, (name, arguments) in enumerate(said if isinstance(said, list) else ())
            ]
            text = said if isinstance(said, str) else ""
            return models.ChatMessage(role="assistant", content=text, tool_calls=made or None, token_usage=usage(1, 1))

    return Scripted()


def tools() -> list[Any]:
    smolagents = pytest.importorskip("smolagents", reason="needs smolagents")

    class Search(smolagents.Tool):  # type: ignore[misc, name-defined]
        name, description, output_type = "web_search", "Searches.", "string"
        inputs = {"query": {"type": "string", "description": "What."}}  # noqa: RUF012

        def forward(self, query: str) -> str:
            return listing(query)

    class Visit(smolagents.Tool):  # type: ignore[misc, name-defined]
        name, description, output_type = "visit_webpage", "Opens.", "string"
        inputs = {"url": {"type": "string", "description": "Where."}}  # noqa: RUF012

        def forward(self, url: str) -> str:
            return f"# A page\nall of {url}"

    return [Search(), Visit()]


def ran(kind: str, *turns: Any, **options: Any) -> tuple[Row, list[Row]]:
    """The dictionary of a run's result, and the agent's memory after it."""
    smolagents = pytest.importorskip("smolagents", reason="needs smolagents")
    agent = getattr(smolagents, kind)(
        tools=tools(), model=scripted(list(turns)), verbosity_level=-1, return_full_result=True, **options
    )
    result = agent.run(TASK)
    return json.loads(json.dumps([result.dict(), agent.memory.get_full_steps()]))  # type: ignore[no-any-return]


PAGE = "https://a.org/ada"
RESEARCHED = [
    ("ada", [f'search {PAGE}: (Title: "About ada") ada it is', 'search https://b.org/: (Title: "Other") other']),
    ("x", ['search https://a.org/x: (Title: "About x") x it is', 'search https://b.org/: (Title: "Other") other']),
    ("y", ['search https://a.org/y: (Title: "About y") y it is', 'search https://b.org/: (Title: "Other") other']),
]
RESEARCHED[0][1].append(f"open {PAGE}: # A page all of {PAGE}")


def test_a_real_tool_calling_agent_is_read(tmp_path: Path) -> None:
    result, memory = ran(
        "ToolCallingAgent",
        [("web_search", {"query": "ada"})],
        [("web_search", {"query": "x"}), ("web_search", {"query": "y"})],
        [("visit_webpage", {"url": PAGE})],
        [("final_answer", {"answer": "Ada Lovelace"})],
    )
    for row in (result, {"steps": memory}):
        assert READER.recognises(row)
        assert (parse(row).question.text, parse(row).rollout.answer) == (TASK, "Ada Lovelace")
        assert parse(row).rollout.setting == BROWSING
        assert shape(row) == RESEARCHED
    saved = tmp_path / "memory.json"
    saved.write_text(json.dumps(memory))
    (pool,) = read_pools(saved, reader=READER)
    assert [one.answer for one in pool.rollouts] == ["Ada Lovelace"]


def test_a_real_code_agent_is_read() -> None:
    result, memory = ran(
        "CodeAgent",
        '<code>\nr = web_search("ada")\nprint(r)\n</code>',
        '<code>\nfor q in ["x", "y"]:\n    print(web_search(query=q))\n</code>',
        f'<code>\nvisit_webpage("{PAGE}")\n</code>',
        '<code>\nfinal_answer("Ada Lovelace")\n</code>',
    )
    for row in (result, {"steps": memory}):
        assert READER.recognises(row)
        assert parse(row).rollout.answer == "Ada Lovelace"
        assert shape(row) == RESEARCHED


def test_a_real_run_that_reached_its_limit_has_the_answer_it_was_asked_for() -> None:
    result, memory = ran("CodeAgent", '<code>\nprint(web_search("ada"))\n</code>', "I guess Ada", max_steps=1)
    assert result["state"] == "max_steps_error"
    for row in (result, {"steps": memory}):
        assert (parse(row).rollout.answer, sizes(row)) == ("I guess Ada", [("ada", 2)])
