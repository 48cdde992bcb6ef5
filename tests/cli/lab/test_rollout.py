"""``tracerank lab rollout``: the same file however often it was interrupted and by how many it was made."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.conftest import error_of, json_lines
from tests.lab.shelves import RIVERS, corpus_of, write_rows
from tests.model_server import Reply, Server, error, said
from tracerank.cli.app import app
from tracerank.readers import iter_pools

QUESTIONS: list[dict[str, Any]] = [
    {"id": 1, "question": "Who charted the Velm River?", "answers": ["Ada Korn"]},
    {"id": 2, "question": "When was the lighthouse of Tarrow built?", "answers": ["1802"]},
    {"id": 3, "question": "Where does the river that Ada Korn charted rise?", "answers": ["Ostra hills"]},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus_of(tmp_path_factory.mktemp("rollout"), RIVERS).folder


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "questions.jsonl", QUESTIONS)


@pytest.fixture
def chat() -> Iterator[Server]:
    made = Server()
    made.rule = searching
    # A client that gives up leaves half a conversation, about which the server would complain on stderr.
    made._http.handle_error = lambda *_: None  # type: ignore[method-assign]
    yield made
    made.close()


def searching(request: dict[str, Any]) -> Reply:
    """Searches once, then answers with its seed, so that every sample differs and each is repeatable."""
    is_first = len(request["messages"]) == 1
    return said("<search>Ada Korn" if is_first else f"<answer>Ada Korn {request['seed'] % 7}")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["lab", "rollout", *map(str, arguments)])


def sampled(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def base(asked: Path, index: Path, chat: Server) -> tuple[object, ...]:
    return (asked, "--corpus", index, "-k", 4, "--chat", f"{chat.url}#toy")


def test_rollouts_are_sampled_at_once_and_written_in_order(
    base: tuple[object, ...], tmp_path: Path, chat: Server
) -> None:
    output, one_by_one = tmp_path / "pools.jsonl", tmp_path / "one.jsonl.gz"
    result = sampled(*base, "-o", output, "--concurrency", 3, "--json")
    rows = json_lines(output.read_text())
    assert [(row["question_id"], row["sample_id"]) for row in rows] == [(q, s) for q in "123" for s in range(4)]
    assert all(row["searches"][0]["evidence"] for row in rows)
    assert next(iter_pools([output])).question.references == ("Ada Korn",)
    assert {request["model"] for request in chat.requests} == {"toy"}
    summary = json.loads(result.stdout)
    assert (summary["calls"], summary["prompt_tokens"], summary["completion_tokens"]) == (24, 24 * 7, 24 * 2)
    result = sampled(*base, "-o", one_by_one, "--concurrency", 1)
    assert "3 questions, 12 rollouts; " in result.stderr
    assert "single accuracy 0." in result.stderr
    assert gzip.decompress(one_by_one.read_bytes()) == output.read_bytes()
    sampled(*base, "-o", tmp_path / "other.jsonl", "--seed", 1)
    assert (tmp_path / "other.jsonl").read_bytes() != output.read_bytes()


def test_what_a_server_failed_on_is_made_again_by_the_same_command(
    base: tuple[object, ...], tmp_path: Path, chat: Server
) -> None:
    whole, output = tmp_path / "whole.jsonl", tmp_path / "pools.jsonl"
    arguments = (*base, "--concurrency", 2)
    sampled(*arguments, "-o", whole)
    chat.requests.clear()
    chat.rule = lambda request: searching(request) if len(chat.requests) <= 11 else error(400, "out of credit")
    result = run(*arguments, "-o", output)
    assert result.exit_code == 3
    assert "of 12 rollouts failed; the same command tries only these again" in result.stderr
    assert "HTTP 400: out of credit" in result.stderr
    chat.rule = searching
    summary = json.loads(sampled(*arguments, "-o", output, "--json", "--chat-time", "9").stdout)
    assert 3 <= summary["resumed"] <= 5
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("reply", "words"),
    [(error(401, "who are you"), "wants a key"), (error(404, "model not found"), "no model 'toy'")],
)
def test_where_nothing_can_work_at_all_one_line_says_so(
    base: tuple[object, ...], tmp_path: Path, chat: Server, reply: Reply, words: str
) -> None:
    chat.rule = lambda _: reply
    # One at a time: requests under way when the command ends would leave their sockets to the next tests.
    assert words in error_of(run(*base, "-o", tmp_path / "p.jsonl", "--concurrency", 1))
    assert list(tmp_path.glob("p.jsonl*")) == []


def test_options_reach_the_server_and_bad_questions_are_listed(
    base: tuple[object, ...], asked: Path, tmp_path: Path, chat: Server
) -> None:
    write_rows(asked, [{"colour": "blue"}, *QUESTIONS])
    chat.rule = lambda request: said("<answer>Ada Korn</answer>")
    options = ("--temperature", 0.3, "--top-p", 0.9, "--max-tokens", 77, "--style", "browser")
    result = sampled(*base, "-o", tmp_path / "p.jsonl", *options)
    assert f"problem: {asked}:1: no question" in result.stderr
    request = chat.requests[0]
    assert (request["temperature"], request["top_p"], request["max_tokens"]) == (0.3, 0.9, 77)
    assert len(request["tools"]) == 3
    rows = json_lines((tmp_path / "p.jsonl").read_text())
    assert (len(rows), rows[0]["setting"]) == (12, "browsing")


def test_mistakes_end_in_one_line_before_any_work(asked: Path, index: Path, tmp_path: Path) -> None:
    chat, output = ("--chat", "http://host#m"), ("-o", tmp_path / "p.jsonl")
    assert "is no server" in error_of(run(asked, "--corpus", index, *output, "--chat", "host#m"))
    assert "no index" in error_of(run(asked, *output, *chat, "--corpus", tmp_path))
    assert "no such file" in error_of(run(tmp_path / "none", *output, *chat, "--corpus", index))
    assert "is one of the input files" in error_of(run(asked, "-o", asked, *chat, "--corpus", index))
    assert list(tmp_path.glob("p.jsonl*")) == []
