"""SQLite stores of agents: what is read, and that nothing in a file is run, written or lost in silence.

Stores that the libraries themselves wrote are read in ``tests/readers/test_sdk_logs.py``.
"""

import gzip
import hashlib
import json
import pickle
import shutil
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tracerank.cli.app import app
from tracerank.errors import ReadError
from tracerank.readers import read_pools
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.sources import sqlite_file, sqlite_stores
from tracerank.readers.sources.open import iter_input

FIXTURES = Path(__file__).parents[1] / "sdk_logs" / "fixtures"
ASKED = "Which river flows through Vienna?"
FOUND = json.dumps([{"title": "Vienna", "url": "https://a.org/", "snippet": "On the Danube."}])
MESSAGES = "CREATE TABLE turns (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)"


def store(path: Path, schema: str, table: str, rows: Iterable[tuple[Any, ...]]) -> Path:
    with sqlite3.connect(path) as connection:
        connection.executescript(schema)
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.close()
    return path


def turns(answer: str = "Danube") -> list[dict[str, Any]]:
    call = {"name": "web_search", "arguments": '{"query": "Vienna"}'}
    return [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": FOUND},
        {"role": "assistant", "content": answer},
    ]


def agents_store(path: Path, answers: Iterable[str] = ("Danube", "Inn")) -> Path:
    rows = [(None, f"s{place}", json.dumps(turn)) for place, answer in enumerate(answers) for turn in turns(answer)]
    return store(path, MESSAGES, "turns", rows)


def answers(path: Path) -> list[tuple[str | None, list[tuple[str | None, int]]]]:
    (pool,) = read_pools(path)
    assert pool.question.text == ASKED
    return [(one.answer, [(seen.query, len(seen.evidence)) for seen in one.searches]) for one in pool.rollouts]


def items(path: Path) -> tuple[list[RecordAt], list[Problem]]:
    found = list(iter_input(path))
    return [one for one in found if isinstance(one, RecordAt)], [one for one in found if isinstance(one, Problem)]


def digest(folder: Path) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir()}


def test_a_store_is_told_by_its_columns_whatever_its_name_and_tables_are(tmp_path: Path) -> None:
    assert answers(agents_store(tmp_path / "log")) == [("Danube", [("Vienna", 1)]), ("Inn", [("Vienna", 1)])]


def test_sessions_that_were_written_at_the_same_time_are_kept_apart(tmp_path: Path) -> None:
    both = zip(turns("Inn"), turns("Danube"), strict=True)
    rows = [(None, name, json.dumps(turn)) for pair in both for name, turn in zip("ba", pair, strict=True)]
    path = store(tmp_path / "s.db", MESSAGES, "turns", rows)
    assert [answer for answer, _ in answers(path)] == ["Inn", "Danube"]  # in the order in which they began


def test_a_session_that_asks_twice_is_told(tmp_path: Path) -> None:
    rows = [
        (None, "s", json.dumps(turn)) for turn in (*turns(), {"role": "user", "content": "And Graz?"}, *turns()[3:])
    ]
    records, problems = items(store(tmp_path / "s.db", MESSAGES, "turns", rows))
    assert len(records) == 1
    assert [str(one) for one in problems] == [
        f"{tmp_path}/s.db:[s]: the session asks 2 times; it is one rollout, of the first question with the last answer"
    ]


def test_rows_that_are_no_json_are_told_and_the_others_read(tmp_path: Path) -> None:
    rows = [(None, "s", json.dumps(turn)) for turn in turns()] + [(None, "s", "<cut"), (None, "s", b"\xff")]
    records, (problem,) = items(store(tmp_path / "s.db", MESSAGES, "turns", rows))
    assert len(records[0].value["messages"]) == 4
    assert problem.reason == "2 of 6 rows hold no JSON object; they were dropped"


def test_a_session_beyond_all_measure_is_dropped_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_stores, "MAX_SESSION_BYTES", 2000)
    long = [(None, "s", json.dumps({"role": "user", "content": "x" * 3000}))]
    rows = [*long, *((None, "t", json.dumps(turn)) for turn in turns())]
    records, problems = items(store(tmp_path / "s.db", MESSAGES, "turns", rows))
    assert [one.source[-3:] for one in records] == ["[t]"]
    assert "the session holds more than" in problems[0].reason


# ---- what must not happen


def test_an_unknown_store_is_one_line_that_names_its_tables(tmp_path: Path) -> None:
    path = store(tmp_path / "s.db", "CREATE TABLE cookies (host TEXT, value TEXT)", "cookies", [("a", "b")])
    result = CliRunner().invoke(app, ["select", str(path)])
    (line,) = result.stderr.strip().splitlines()
    assert result.exit_code == 2
    assert "s.db: a SQLite file whose tables are not known (cookies); known are sessions of" in line


def test_an_empty_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="holds no sessions"):
        read_pools(store(tmp_path / "s.db", MESSAGES, "turns", []))


def test_a_view_or_a_computed_column_is_no_store(tmp_path: Path) -> None:
    schema = (
        "CREATE TABLE t (a TEXT); CREATE VIEW v AS SELECT 1 AS id, 's' AS session_id, a AS message_data FROM t;"
        "CREATE TABLE u (id INTEGER PRIMARY KEY, session_id TEXT, a TEXT, message_data TEXT AS (upper(a)) VIRTUAL)"
    )
    with pytest.raises(ReadError, match=r"tables are not known \(t, u\)"):
        read_pools(store(tmp_path / "s.db", schema, "t", [("x",)]))


def test_nothing_is_written_beside_a_store(tmp_path: Path) -> None:
    path = agents_store(tmp_path / "s.db")
    before = digest(tmp_path)
    answers(path)
    assert digest(tmp_path) == before


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_what_stands_in_a_journal_is_read_and_left_alone(tmp_path: Path, mode: str) -> None:
    live, left = tmp_path / "live", tmp_path / "left"
    live.mkdir()
    left.mkdir()
    path = agents_store(live / "s.db", ["Danube"])
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    rows = [("s9", json.dumps(turn)) for turn in turns("Inn")]
    connection.executemany("INSERT INTO turns (session_id, message_data) VALUES (?, ?)", rows)
    if mode == "wal":
        connection.execute("COMMIT")
    else:  # a transaction that broke off after pages were written: the journal takes it back
        connection.execute("DELETE FROM turns WHERE session_id = 's0'")
        connection.executemany("INSERT INTO turns (session_id, message_data) VALUES ('x', ?)", [("y" * 9000,)] * 9)
    for part in live.iterdir():  # as a process leaves them that was killed
        shutil.copy(part, left)
    connection.close()
    before = digest(left)
    assert (left / ("s.db-wal" if mode == "wal" else "s.db-journal")).stat().st_size > 0
    wanted = ["Danube", "Inn"] if mode == "wal" else ["Danube"]
    assert [answer for answer, _ in answers(left / "s.db")] == wanted
    assert [answer for answer, _ in answers(left)] == wanted  # its journal in the folder is no file of its own
    assert digest(left) == before


def test_a_store_that_changes_while_it_is_copied_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = agents_store(tmp_path / "s.db")
    (tmp_path / "s.db-wal").write_bytes(b"x")
    states = iter(range(99))
    monkeypatch.setattr(sqlite_file, "_state", lambda name: {name: (next(states), 0)})
    with pytest.raises(ReadError, match=r"is being written; stop the agent, or read a copy"):
        read_pools(path)


def test_work_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = agents_store(tmp_path / "s.db", ["Danube"] * 2000)
    monkeypatch.setattr(sqlite_file, "_STEPS", 0)
    monkeypatch.setattr(sqlite_file, "_STEPS_A_BYTE", 0)
    monkeypatch.setattr(sqlite_file, "_STEPS_AT_ONCE", 100)
    with pytest.raises(ReadError, match=r"cannot be read \(interrupted\)"):
        read_pools(path)


# ---- the other stores


def checkpoint_store(tmp_path: Path) -> Path:
    path = tmp_path / "c.db"
    path.write_bytes(gzip.decompress((FIXTURES / "langgraph" / "checkpoint_store.sqlite.gz").read_bytes()))
    return path


def altered(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        connection.create_function("packed", 1, lambda text: bytes.fromhex(text))
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def test_checkpoints_name_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ormsgpack", None)
    with pytest.raises(ReadError, match=r"a checkpoint of LangGraph needs ormsgpack; install it: .* -m pip install "):
        read_pools(checkpoint_store(tmp_path))


def test_pickled_checkpoints_are_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("ormsgpack")
    path = altered(checkpoint_store(tmp_path), "UPDATE checkpoints SET type = 'pickle' WHERE thread_id = 'q0r0'")
    records, (problem,) = items(path)
    assert len(records) == 3
    assert "[q0r0]: the checkpoint is written as 'pickle', which is not read; it was dropped" in str(problem)


def test_objects_in_a_checkpoint_are_never_made(tmp_path: Path) -> None:
    ormsgpack = pytest.importorskip("ormsgpack")
    touched = tmp_path / "touched"
    evil = ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb(("os", "mkdir", str(touched)))))
    state = ormsgpack.packb({"channel_values": {"x": 0, "messages": []}})
    data = state.replace(b"\xa1x\x00", b"\xa1x" + evil).hex()
    path = altered(
        checkpoint_store(tmp_path), f"UPDATE checkpoints SET checkpoint = packed('{data}') WHERE thread_id = 'q0r0'"
    )
    records, _ = items(path)
    assert records[0].value["x"] == str(touched)
    assert not touched.exists()


def test_messages_that_the_last_state_leaves_out_are_taken_from_the_steps(tmp_path: Path) -> None:
    ormsgpack = pytest.importorskip("ormsgpack")
    empty = ormsgpack.packb({"channel_values": {}}).hex()
    before = items(checkpoint_store(tmp_path))[0]
    after = items(altered(checkpoint_store(tmp_path), f"UPDATE checkpoints SET checkpoint = packed('{empty}')"))[0]
    for one, other in zip(before, after, strict=True):
        # What two calls of one message brought back may change places.
        said = [sorted(message["content"] for message in record.value["messages"]) for record in (one, other)]
        assert said[0] == said[1]


def test_a_pickle_in_a_store_of_adk_is_never_opened(tmp_path: Path) -> None:
    schema = (
        "CREATE TABLE events (id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, author TEXT,"
        " actions BLOB, timestamp DATETIME, content TEXT)"
    )
    call = {"function_call": {"id": "c", "name": "web_search", "args": {"query": "Vienna"}}}
    back = {"function_response": {"id": "c", "name": "web_search", "response": {"result": json.loads(FOUND)}}}
    events = [
        ("user", {"role": "user", "parts": [{"text": ASKED}]}),
        ("searcher", {"role": "model", "parts": [call]}),
        ("searcher", {"role": "user", "parts": [back]}),
        ("searcher", {"role": "model", "parts": [{"text": "Danube"}]}),
    ]
    rows = [
        (
            f"e{place}",
            "app",
            "me",
            "s",
            "i",
            author,
            pickle.dumps(_Bomb()),
            f"2025-01-01 00:00:0{place}",
            json.dumps(said),
        )
        for place, (author, said) in enumerate(events)
    ]
    assert answers(store(tmp_path / "s.db", schema, "events", rows)) == [("Danube", [("Vienna", 1)])]


class _Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was opened",))


def test_runs_of_agno_that_stand_in_their_session_are_rollouts_of_their_own_questions(tmp_path: Path) -> None:
    schema = "CREATE TABLE sessions (session_id TEXT, session_type TEXT, runs JSON, created_at BIGINT)"
    earlier = {"role": "user", "content": "And Graz?", "from_history": True}
    runs = [
        {"run_id": "r1", "content": "Danube", "messages": [earlier, *turns()]},
        {"run_id": "r2", "parent_run_id": "r1", "content": "Salzach", "messages": turns("Salzach")},
        {"run_id": "r3", "content": "Inn", "messages": turns("Inn")},
    ]
    path = store(tmp_path / "s.db", schema, "sessions", [("s", "agent", json.dumps(json.dumps(runs)), 1)])
    assert [answer for answer, _ in answers(path)] == ["Danube", "Inn"]


@pytest.mark.parametrize(("key", "order"), [("thread_id", "createdAt"), ("session_id", "created_at")])
def test_any_table_of_messages_with_a_session_a_role_and_a_content_is_read(
    tmp_path: Path, key: str, order: str
) -> None:
    schema = f"CREATE TABLE m (id TEXT, {key} TEXT, content TEXT, role TEXT, {order} TEXT)"
    rows = [
        (f"{place}", "t", json.dumps({"tool_calls": turn["tool_calls"], "content": None}), turn["role"], str(place))
        if "tool_calls" in turn
        else (f"{place}", "t", turn["content"], turn["role"], str(place))
        for place, turn in enumerate((turns()[0], turns()[-1]))
    ]
    assert answers(store(tmp_path / "s.db", schema, "m", rows)) == [("Danube", [])]
