"""``--escalate METHOD --below P`` of select and evaluate, and ``tracerank gaps``."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import pool_of, ranked, rollout
from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of
from tests.model_server import Server, error, said
from tracerank.pools.canonical import write_pools


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A chat server that finds the last candidate right, and a cache folder of the test's own."""
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "cache" / "vectors"))
    server = Server(lambda request: said("YES" if 'Answer: "Mantua"' in str(request["messages"]) else "NO"))
    yield server
    server.close()


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A pool that is clear, and one in which everybody says something else; Mantua is right."""
    text = "Claudio Monteverdi composed Orfeo and died in Venice."
    clear = [rollout("Venice", ranked("Monteverdi death", text), label=1.0) for _ in range(6)]
    cities = ("Venice", "Cremona", "Mantua")
    unsure = [rollout(city, ranked("Orfeo composer", "A page."), label=float(city == "Mantua")) for city in cities]
    pools = [
        pool_of(*clear, question="Where did Claudio Monteverdi die?"),
        pool_of(*unsure, question="Which city did the teacher of Heinrich Schütz visit?"),
    ]
    write_pools(tmp_path / "pools.jsonl", pools)
    return tmp_path / "pools.jsonl"


def behind(chat: Server, *arguments: object) -> tuple[object, ...]:
    return (*arguments, "--escalate", "verifier", "--below", "0.5", "--chat", f"{chat.url}#toy")


def test_select_asks_only_about_what_is_unsure_and_tells_what_was_before(run: Run, mixed: Path, chat: Server) -> None:
    result = run(*behind(chat, "select", mixed))
    assert result.exit_code == 0, result.output
    clear, unsure = json_lines(result.stdout)
    assert (clear["escalated"], clear["answer"], clear["method"]) == (None, "Venice", "default+verifier")
    assert (unsure["answer"], unsure["escalated"]["outcome"]) == ("Mantua", "changed")
    assert unsure["escalated"]["usage"]["calls"] == unsure["usage"]["calls"] == len(chat.requests) == 3
    assert unsure["missing"]["unasked"]


def test_a_server_that_fails_leaves_the_first_decision_ends_with_3_and_is_asked_again(
    run: Run, mixed: Path, chat: Server, tmp_path: Path
) -> None:
    rule, chat.rule = chat.rule, lambda request: error(400, "out of credit")
    command = behind(chat, "select", mixed, "-o", tmp_path / "d.jsonl")
    result = run(*command)
    assert result.exit_code == 3
    assert "1 of 2 questions failed" in result.stderr
    assert "where the first decision was made, it stays" in result.stderr
    written = json_lines((tmp_path / "d.jsonl").read_text())[1]
    assert written["answer"] is not None
    assert written["problem"] is None
    assert "out of credit" in written["escalated"]["problem"]
    chat.rule = rule
    assert run(*command, "--force").exit_code == 0
    assert json_lines((tmp_path / "d.jsonl").read_text())[1]["answer"] == "Mantua"


def test_evaluate_shows_both_and_what_it_cost_and_the_report_asks_nobody(
    run: Run, mixed: Path, chat: Server, tmp_path: Path
) -> None:
    command = behind(chat, "evaluate", mixed, "--methods", "default,single", "-k", "3", "-o", tmp_path / "e")
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "default+verifier at K=3: 1 of 2 questions were below 0.5; recovered answers: 1, lost: 0" in result.stdout
    assert "single+verifier" not in result.stdout
    asked = len(chat.requests)
    report = run("report", tmp_path / "e", "--format", "json", "-o", tmp_path / "r", "--no-plots")
    rows = next(each["rows"] for each in json.loads(report.stdout)["tables"] if each["name"] == "escalation")
    assert rows[-1]["method"] == "default+verifier"
    assert (rows[-1]["recovered"], rows[-1]["calls each"]) == (1, 3.0)
    assert "Asking another method" in (tmp_path / "r" / "index.html").read_text(encoding="utf-8")
    told = json.loads(run(*command, "--json").stdout)
    assert told["escalation"][0]["recovered"] == 1.0
    assert len(chat.requests) == asked


def test_evaluate_counts_a_failed_escalation_as_the_first_answer_and_tries_again(
    run: Run, mixed: Path, chat: Server, tmp_path: Path
) -> None:
    rule, chat.rule = chat.rule, lambda request: error(400, "out of credit")
    command = behind(chat, "evaluate", mixed, "--methods", "default", "-k", "3", "-o", tmp_path / "e")
    failed = run(*command)
    assert failed.exit_code == 3
    assert "they keep the first method's answer; the same command tries them again" in failed.stderr
    chat.rule = rule
    again = run(*command)
    assert again.exit_code == 0, again.output
    assert "recovered answers: 1" in again.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--escalate", "oracle"), "--escalate oracle needs --below P"),
        (("--below", "0.5"), "--below needs --escalate METHOD"),
        (("--escalate", "oracle", "--below", "0"), "--below 0: no confidence is below it"),
        (("--escalate", "verifier", "--below", "0.5"), "--chat URL#MODEL is needed for verifier"),
        (("--escalate", "nobody", "--below", "0.5"), "no method or folder is called 'nobody'"),
        (("--method", "single", "--escalate", "oracle", "--below", "0.5"), "single tells no confidence"),
    ],
)
def test_half_of_it_and_what_cannot_be_is_refused(run: Run, mixed: Path, options: tuple[str, ...], said: str) -> None:
    result = run("select", mixed, *options)
    assert result.exit_code == 2
    assert said in error_of(result)


def test_gaps_lists_unsure_pools_alone(run: Run, mixed: Path) -> None:
    result = run("gaps", mixed, "--below", "0.5")
    assert result.exit_code == 0, result.output
    assert "Heinrich" in result.stdout
    assert "Where did" not in result.stdout
    assert "2 questions, 1 of them below 0.5; something is named for 1" in result.stderr
    told = json.loads(run("gaps", mixed, "--below", "0.5", "--json").stdout)
    assert (told["questions"], told["unsure"]) == (2, 1)
    [pool] = told["pools"]
    assert pool["missing"]["repeated"] == [{"query": "Orfeo composer", "rollouts": 3, "searching": 3}]
    assert "no rollout looked up 'Heinrich Schütz'" in pool["sentences"]


def test_gaps_needs_a_method_that_tells_a_confidence(run: Run, mixed: Path) -> None:
    assert "tells no confidence" in error_of(run("gaps", mixed, "--method", "single"))
