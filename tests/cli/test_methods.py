"""Methods by name: the table that the command line goes by."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import pool
from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of
from tests.model_server import Rule, Server, error, said
from tracerank.cache_folders import default_reply_folder
from tracerank.errors import CheckpointError, UsageError
from tracerank.pools.pool import Pool
from tracerank.selectors.table import (
    METHOD_HELP,
    METHOD_NAMES,
    METHODS,
    EqualityName,
    MethodOptions,
    method_named,
    methods_named,
)
from tracerank.votes.selector import load_selector, selector_kind

NEEDS_NOTHING = [name for name, row in METHODS.items() if row.needs is None and name != "oracle"]


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A chat server, and a cache folder of the test's own."""
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "cache" / "vectors"))
    server = Server()
    yield server
    server.close()


@pytest.mark.parametrize("name", NEEDS_NOTHING)
def test_a_method_that_needs_nothing_settles_a_pool_under_its_name(name: str) -> None:
    method = method_named(name, MethodOptions())
    assert method.name == ("meaning" if name == "selector" else name)  # what ships
    assert method.decide(pool("Paris", "Paris.", "Rome")).sample_id is not None


def test_every_method_is_named_in_the_help_and_says_what_it_needs() -> None:
    for name, row in METHODS.items():
        assert f"{name} (" in METHOD_HELP
        if row.needs is not None:
            with pytest.raises(UsageError, match=f"^--{row.needs} .* {name}"):
                method_named(name, MethodOptions())


def test_the_equality_is_that_of_the_vote_and_of_its_name() -> None:
    options = MethodOptions(equality=EqualityName.DEFAULT)
    assert method_named("majority", options).name == "majority-default"
    assert method_named("weighted", options).name == "weighted-default"
    assert method_named("majority-paper", options).name == "majority-paper"
    assert method_named("majority", MethodOptions(equality=EqualityName.CONTAINMENT)).name == "majority-containment"


def test_abstentions_count_when_the_papers_rule_is_asked_for() -> None:
    unsure = pool("I don't know", "Rome", "I don't know")
    for name in ("majority", "weighted"):
        plain, papers = (method_named(name, MethodOptions(count_abstentions=counts)) for counts in (False, True))
        assert (plain.name, papers.name) == (name, f"{name}-paper")
        assert (plain.decide(unsure).answer, papers.decide(unsure).answer) == ("Rome", "I don't know")
    with pytest.raises(UsageError, match="for --equality exact, not default"):
        method_named("majority", MethodOptions(equality=EqualityName.DEFAULT, count_abstentions=True))


def test_a_list_of_methods_keeps_its_order_and_names_each_once() -> None:
    listed = methods_named(" single, majority ,fewest-tools,", MethodOptions())
    assert [method.name for method in listed] == ["single", "majority", "fewest-tools"]
    with pytest.raises(UsageError, match="majority and majority are both called majority"):
        methods_named("majority,majority", MethodOptions())
    with pytest.raises(UsageError, match="both called majority-default"):
        methods_named("majority,majority-default", MethodOptions(equality=EqualityName.DEFAULT))
    with pytest.raises(UsageError, match="expected names separated by commas"):
        methods_named(" , ", MethodOptions())
    with pytest.raises(UsageError, match="no method or folder is called 'MAJORITY'"):
        methods_named("MAJORITY", MethodOptions())


def test_a_method_can_be_given_a_checkpoint_of_its_own(checkpoint: Path) -> None:
    assert method_named(f"trace={checkpoint}", MethodOptions()).name == "trace"
    with pytest.raises(UsageError, match="only selector, trace, meaning, trace-plus, features, stack take a folder"):
        method_named(f"majority={checkpoint}", MethodOptions())


def test_a_folder_is_loaded_as_what_it_says_it_holds(checkpoint: Path, tmp_path: Path) -> None:
    assert selector_kind(checkpoint) == "trace"
    assert load_selector(checkpoint).name == "trace"
    (tmp_path / "selector.json").write_text(json.dumps({"kind": "features"}))
    assert selector_kind(tmp_path) == "features"
    with pytest.raises(UsageError, match="holds a selector of kind features, not trace; write "):
        method_named("trace", MethodOptions(checkpoint=str(tmp_path)))
    (tmp_path / "selector.json").write_text(json.dumps({"kind": "tarot"}))
    with pytest.raises(CheckpointError, match="of kind 'tarot'; known are trace, meaning, features, stack"):
        load_selector(tmp_path)
    (tmp_path / "selector.json").write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_selector(tmp_path)
    with pytest.raises(CheckpointError, match="no checkpoint here"):
        load_selector(tmp_path / "missing")


def test_names_begin_with_what_needs_no_training_and_end_with_the_bound() -> None:
    assert (METHOD_NAMES[0], METHOD_NAMES[-1]) == ("single", "oracle")


# Methods that ask a chat server.


def test_a_chat_method_asks_once_and_then_never_again(run: Run, world: Path, chat: Server) -> None:
    chat.rule = lambda request: said("<answer>Atlantis</answer>")
    command = ("select", world, "--method", "solagg", "--chat", f"{chat.url}#toy", "--quiet")
    result = run(*command)
    assert result.exit_code == 0, result.output
    found = json_lines(result.stdout)
    assert {(record["answer"], record["sample_id"]) for record in found} == {("Atlantis", None)}
    assert all(record["usage"]["calls"] == 1 for record in found)
    assert len(chat.requests) == len(found)
    assert run(*command).stdout == result.stdout
    assert len(chat.requests) == len(found)


@pytest.mark.parametrize("method", ["solagg", "solagg-paper"])
def test_no_answer_is_told_apart_from_no_candidate(run: Run, world: Path, chat: Server, method: str) -> None:
    chat.rule = lambda request: said("I cannot tell.")
    result = run("select", world, "-k", "2", "--method", method, "--chat", f"{chat.url}#toy")
    found = json_lines(result.stdout)
    asked = [record for record in found if record["counts"]]
    assert asked
    assert all(record["reply"] == "I cannot tell." for record in asked)
    assert all((record["answer"] is None) == (method == "solagg-paper") for record in asked)
    assert f"{len(found)} questions, {len(found) - len(asked)} of them without a candidate" in result.stderr
    again = f"{len(asked)} asked again, " if method == "solagg" else ""
    told = f"{method}: of {len(found)} decisions {again}{len(asked)} without an answer of the model's"
    assert told in result.stderr
    shown = run("evaluate", world, "-k", "2", "--methods", method, "--chat", f"{chat.url}#toy").stderr
    assert told in shown


def test_what_a_chat_method_cost_is_in_the_report(run: Run, world: Path, chat: Server, tmp_path: Path) -> None:
    chat.rule = lambda request: said("<answer>Atlantis</answer>")
    asked = ("--methods", "solagg", "--chat", f"{chat.url}#toy", "-k", "2", "-o", tmp_path / "e")
    assert run("evaluate", world, *asked, "--quiet").exit_code == 0
    (tmp_path / "prices.json").write_text('{"toy": {"input": 1000000, "output": 0}}')
    found = json.loads(run("report", tmp_path / "e", "--prices", tmp_path / "prices.json", "--format", "json").stdout)
    (row,) = next(table["rows"] for table in found["tables"] if table["name"] == "cost")
    assert row["money a question"] == row["prompt tokens"] > 0
    assert row["money per 1,000"] == 1000 * row["prompt tokens"]


def test_confidence_is_asked_for_where_nobody_states_it(run: Run, world: Path, chat: Server) -> None:
    chat.rule = lambda request: said("Confidence: 80")
    command = ("select", world, "-k", "2", "--quiet", "--chat", f"{chat.url}#toy", "--method")
    result = run(*command, "weighted")
    assert result.exit_code == 0, result.output
    assert all(record["note"] is None for record in json_lines(result.stdout))
    stated = len(chat.requests)
    asked = json_lines(run(*command, "weighted-asked").stdout)
    assert len(chat.requests) >= stated
    assert all(score == pytest.approx(0.8 * round(score / 0.8)) for r in asked for score in r["scores"].values())


def test_the_verifier_needs_a_verdict(run: Run, world: Path, chat: Server) -> None:
    chat.rule = lambda request: said("Yes")
    result = run("select", world, "-k", "2", "--method", "verifier", "--chat", f"{chat.url}#toy", "--quiet")
    assert result.exit_code == 0, result.output
    assert all(set(record["scores"].values()) <= {1.0} for record in json_lines(result.stdout))


def test_scores_that_are_all_alike_are_warned_of_once(run: Run, world: Path, chat: Server) -> None:
    chat.rule = lambda request: said("Yes")
    asked = ("-k", "3", "--chat", f"{chat.url}#toy")
    for result in (
        run("select", world, "--method", "verifier", *asked),
        run("evaluate", world, "--methods", "verifier", *asked),
    ):
        assert result.stderr.count("warning: verifier: in ") == 1
        assert "decisions all scores are alike, so the first candidate was taken" in result.stderr


def fails_on(word: str, answer: str) -> Rule:
    """A server that fails on prompts with the word."""
    return lambda request: error(400, "out of credit") if word in str(request["messages"]) else said(answer)


def test_a_question_that_fails_is_written_as_failed_and_only_it_is_asked_about_again(
    run: Run, world: Path, chat: Server, pools: list[Pool], tmp_path: Path
) -> None:
    bad = pools[3].question.text
    chat.rule = fails_on(bad, "<answer>Atlantis</answer>")
    output = tmp_path / "d.jsonl"
    command = ("select", world, "--method", "solagg", "--chat", f"{chat.url}#toy", "-o", output)
    result = run(*command)
    assert result.exit_code == 3
    assert f"solagg: 1 of {len(pools)} questions failed, the first because " in result.stderr
    [failed] = [record for record in json_lines(output.read_text()) if record["problem"]]
    assert (failed["question"], failed["answer"]) == (bad, None)
    assert "HTTP 400: out of credit" in failed["problem"]
    chat.rule = fails_on("nowhere", "<answer>Atlantis</answer>")
    before = len(chat.requests)
    assert run(*command, "--force", "--chat-time", "9").exit_code == 0
    assert len(chat.requests) == before + 1
    assert {record["answer"] for record in json_lines(output.read_text())} == {"Atlantis"}


def test_a_decision_that_failed_is_in_no_figure_and_made_again(
    run: Run, world: Path, chat: Server, pools: list[Pool], tmp_path: Path
) -> None:
    command = ("evaluate", world, "-k", "2,3", "--methods", "majority,solagg", "--chat", f"{chat.url}#toy", "--json")
    chat.rule = fails_on("nowhere", "<answer>Atlantis</answer>")
    whole = run(*command)
    shutil.rmtree(default_reply_folder())
    chat.rule = fails_on(pools[3].question.text, "<answer>Atlantis</answer>")
    result = run(*command, "-o", tmp_path / "e")
    assert result.exit_code == 3
    assert "solagg: 2 of 24 decisions failed, the first because " in result.stderr
    counted = {(row["method"], row["questions"]) for row in json.loads(result.stdout)["rows"]}
    assert {("majority", 12), ("solagg", 11)} <= counted
    chat.rule = fails_on("nowhere", "<answer>Atlantis</answer>")
    before = len(chat.requests)
    again = run(*command, "-o", tmp_path / "e")
    assert again.exit_code == 0, again.output
    assert before < len(chat.requests) <= before + 2  # both K may ask the same
    assert json.loads(again.stdout)["rows"] == json.loads(whole.stdout)["rows"]
    records = json_lines((tmp_path / "e" / "records.jsonl").read_text())
    assert len({(record["question_id"], record["method"], record["k"]) for record in records}) == len(records)
    assert not (tmp_path / "e" / "records.jsonl.new").exists()


def test_a_wrong_key_ends_a_command_in_one_line(run: Run, world: Path, chat: Server) -> None:
    chat.rule = lambda _: error(401, "who are you")
    result = run("select", world, "--method", "verifier", "--chat", f"{chat.url}#toy")
    assert "wants a key (HTTP 401)" in error_of(result)
    assert result.stdout == ""


@pytest.mark.parametrize("method", ["weighted-asked", "verifier", "solagg", "summagg", "aggagent", "majority"])
def test_whoever_asks_keeps_to_the_context_and_to_the_tokens(run: Run, world: Path, chat: Server, method: str) -> None:
    if method == "aggagent":
        pytest.importorskip("bm25s", reason="its search tool is of an extra")
    chat.rule = lambda _: said("Confidence: 50. YES. <answer>x</answer> DIFFERENT")
    equality = ("--equality", "llm") if method == "majority" else ()
    command = ("select", world, "-k", "3", "--method", method, "--chat", f"{chat.url}#toy", *equality, "--chat-context")
    run(*command, "1024")
    assert chat.requests
    replies = {128} if method == "aggagent" else {256}  # its replies are calls
    assert {request["max_tokens"] for request in chat.requests} == replies
    words = max(len(str(request["messages"]).split()) for request in chat.requests)
    assert words < 1024
    chat.requests.clear()
    run(*command, "1024", "--chat-tokens", "300")
    assert {request["max_tokens"] for request in chat.requests} == {300}
