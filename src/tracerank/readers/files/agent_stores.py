"""SQLite stores of agent frameworks to records: one a session, with its messages or events in order.

Known are the sessions of the OpenAI Agents SDK, the checkpoints of LangGraph, the sessions of Google ADK and the runs
of agno, told by the columns of their tables, since the names can be chosen. JSON and MessagePack are read as data;
pickled columns are never asked for. What the messages say is for the readers.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from tracerank.errors import ReadError
from tracerank.readers.base import Record
from tracerank.readers.files.containers import as_record, events_record
from tracerank.readers.files.inert_msgpack import plain_msgpack
from tracerank.readers.files.loose_json import NOT_JSON, load_json
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.files.sqlite_file import DamagedFile, Tables, opened

_LONGEST_SESSION = 1 << 28
"""Bytes of one session's payloads."""
_TABLES_SHOWN = 8
_MANY = "the session asks {} times; it is one rollout, of the first question with the last answer"
_TOO_LONG = f"the session holds more than {_LONGEST_SESSION:,} bytes; it was dropped"


class _Kept(NamedTuple):
    """What a store keeps of one session."""

    session: str
    record: Record | None
    """None: it cannot be used."""
    size: int
    problems: tuple[str, ...] = ()


Sessions = Iterator[_Kept]


def iter_store(name: str) -> Iterator[RecordAt | Problem]:
    """The sessions of a store in the order in which they began, with a Problem in the place of each that is damaged."""
    with opened(name) as tables:
        found = next((sessions for kind in _KINDS if (sessions := kind(tables, name)) is not None), None)
        if found is None:
            own = [table for table in tables.columns if not table.startswith("sqlite_")]
            shown = ", ".join(own[:_TABLES_SHOWN]) + (", …" if len(own) > _TABLES_SHOWN else "")
            raise ReadError(
                f"{name}: a SQLite file whose tables are not known ({shown or 'it has none'}); known are sessions of "
                "the OpenAI Agents SDK, Google ADK and agno and checkpoints of LangGraph; export others as JSON Lines"
            )
        count = 0
        try:
            for kept in found:
                count += 1
                place = f"{name}:[{kept.session}]"
                yield from (Problem(place, problem) for problem in kept.problems)
                if kept.record is not None:
                    yield RecordAt(kept.record, place, kept.size)
        except DamagedFile as error:
            if count == 0:
                raise
            yield Problem(name, f"{str(error).removeprefix(f'{name}: ')}; what came before was read")
        if count == 0:
            raise ReadError(f"{name}: the SQLite file holds no sessions")


def _by_session(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[str, list[tuple[Any, ...]] | None]]:
    """The rows of each session without their first column, which names it; None in the place of too many."""
    for session, of_session in groupby(rows, key=itemgetter(0)):
        kept: list[tuple[Any, ...]] = []
        size = 0
        for row in of_session:
            size += sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
            if size <= _LONGEST_SESSION:
                kept.append(row[1:])
            else:
                kept.clear()
        yield str(session), kept if size <= _LONGEST_SESSION else None


def _transcripts(rows: Iterator[tuple[Any, ...]], item_of: Callable[[tuple[Any, ...]], Any]) -> Sessions:
    """One record a session out of a row for each message or event."""
    for session, kept in _by_session(rows):
        if kept is None:
            yield _Kept(session, None, 0, (_TOO_LONG,))
            continue
        items = [item for row in kept if isinstance(item := item_of(row), Mapping)]
        lost = len(kept) - len(items)
        problems = [f"{lost} of {len(kept)} rows hold no JSON object; they were dropped"] if lost else []
        asked = sum(map(_asks, items))
        if asked > 1:
            problems.append(_MANY.format(asked))
        record = (as_record(items) or events_record(items)) if items else None
        yield _Kept(session, record, sum(len(str(cell)) for row in kept for cell in row), tuple(problems))


def _asks(item: Mapping[str, Any]) -> bool:
    """Whether an item is what a user said, rather than what came back from a call."""
    content = item.get("content")
    if item.get("author", item.get("role", item.get("type"))) not in ("user", "human") or content is None:
        return False
    parts = content.get("parts") if isinstance(content, Mapping) else content
    return isinstance(parts, str) or (isinstance(parts, list) and any("text" in part for part in parts if part))


def _agents(tables: Tables, _: str) -> Sessions | None:
    """``SQLiteSession`` and ``SQLAlchemySession``; of ``AdvancedSQLiteSession`` each branch is a session."""
    messages = tables.with_columns("id", "session_id", "message_data")
    if messages is None:
        return None
    branches = tables.with_columns("session_id", "message_id", "branch_id", "sequence_number")
    if branches is not None:
        query = (
            f"SELECT b.session_id || '/' || b.branch_id AS branch, m.message_data FROM {branches} b "
            f"JOIN {messages} m ON m.id = b.message_id ORDER BY b.session_id, b.branch_id, b.sequence_number"
        )
    else:
        query = _in_order(messages, ("session_id",), "id", "t.session_id, t.message_data")
    return _transcripts(tables.rows(query), lambda row: _json(row[0]))


def _adk(tables: Tables, _: str) -> Sessions | None:
    """``DatabaseSessionService`` and ``SqliteSessionService``; older ones keep an event in columns."""
    keys = ("app_name", "user_id", "session_id")
    name = "t.app_name || '/' || t.user_id || '/' || t.session_id"
    events = tables.with_columns(*keys, "event_data", "timestamp")
    if events is not None:
        query = _in_order(events, keys, "timestamp", f"{name}, t.event_data")
        return _transcripts(tables.rows(query), lambda row: _json(row[0]))
    events = tables.with_columns(*keys, "author", "content", "timestamp")
    if events is None:
        return None
    query = _in_order(events, keys, "timestamp", f"{name}, t.author, t.content")
    return _transcripts(tables.rows(query), lambda row: {"author": row[0], "content": _json(row[1])})


def _agno(tables: Tables, _: str) -> Sessions | None:
    """``SqliteDb``: a row a run, or since before version 3 all runs of a session in one column."""
    runs = tables.with_columns("run_id", "session_id", "run_data", "created_at")
    if runs is not None:
        query = _in_order(runs, ("session_id",), "created_at", "t.session_id, t.run_data")
        return _runs(tables.rows(query), lambda row: [_json(row[0])])
    sessions = tables.with_columns("session_id", "session_type", "runs", "created_at")
    if sessions is None:
        return None
    query = _in_order(sessions, ("session_id",), "created_at", "t.session_id, t.runs")
    return _runs(tables.rows(query), lambda row: found if isinstance(found := _json(row[0]), list) else [])


def _runs(rows: Iterator[tuple[Any, ...]], runs_of: Callable[[tuple[Any, ...]], list[Any]]) -> Sessions:
    """One record a run: each says what it was given. What it kept of earlier runs, and runs of members, are left."""
    for session, kept in _by_session(rows):
        if kept is None:
            yield _Kept(session, None, 0, (_TOO_LONG,))
            continue
        for row in kept:
            found = runs_of(row)
            size = len(str(row[0])) // max(1, len(found))
            for run in (_json(one) for one in found):
                if not isinstance(run, Mapping):
                    yield _Kept(session, None, 0, ("a run is no JSON object; it was dropped",))
                elif not run.get("parent_run_id"):
                    yield _Kept(session, {**run, "messages": _of_this_run(run.get("messages"))}, size)


def _of_this_run(messages: object) -> list[Any]:
    listed = messages if isinstance(messages, list) else []
    return [one for one in listed if not (isinstance(one, Mapping) and one.get("from_history") is True)]


def _langgraph(tables: Tables, name: str) -> Sessions | None:
    """``SqliteSaver``: the last state of each thread; graphs inside the graph have a name space of their own."""
    columns = ("thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint")
    checkpoints = tables.with_columns(*columns)
    if checkpoints is None:
        return None
    writes = tables.with_columns("thread_id", "checkpoint_ns", "checkpoint_id", "channel", "type", "value", "idx")
    query = (
        f"SELECT t.thread_id, t.type, t.checkpoint FROM {checkpoints} t JOIN (SELECT thread_id AS thread, "
        f"MIN(checkpoint_id) AS first, MAX(checkpoint_id) AS last FROM {checkpoints} WHERE checkpoint_ns = '' "
        "GROUP BY thread_id) s ON s.thread = t.thread_id AND s.last = t.checkpoint_id "
        "WHERE t.checkpoint_ns = '' ORDER BY s.first"
    )
    return _threads(tables, name, tables.rows(query), writes)


def _threads(tables: Tables, name: str, rows: Iterator[tuple[Any, ...]], writes: str | None) -> Sessions:
    for thread, kind, data in rows:
        state, problem = _payload(name, kind, data)
        values = state.get("channel_values") if isinstance(state, Mapping) else None
        if not isinstance(values, Mapping):
            yield _Kept(str(thread), None, 0, (problem or "the checkpoint holds no state; it was dropped",))
            continue
        record = {key: value for key, value in values.items() if not key.startswith(("__", "branch:"))}
        if not isinstance(record.get("messages"), list) and writes is not None:
            record |= _written(tables, name, writes, str(thread))
        asked = sum(_asks(one) for one in record.get("messages") or () if isinstance(one, Mapping))
        yield _Kept(str(thread), record, len(data), (_MANY.format(asked),) if asked > 1 else ())


def _written(tables: Tables, name: str, writes: str, thread: str) -> dict[str, Any]:
    """The messages as the steps added them, where the last state does not repeat them."""
    query = (
        f"SELECT type, value FROM {writes} WHERE thread_id = ? AND checkpoint_ns = '' AND channel = 'messages' "
        "ORDER BY checkpoint_id, idx"
    )
    messages: list[Any] = []
    size = 0
    for kind, data in tables.rows(query, thread):
        size += len(data or b"")
        added = _payload(name, kind, data)[0] if size <= _LONGEST_SESSION else None
        messages += added if isinstance(added, list) else [added] if isinstance(added, Mapping) else []
    return {"messages": messages} if messages else {}


def _payload(name: str, kind: object, data: object) -> tuple[Any, str]:
    """A value as its type says it was written, or why it is not read."""
    if kind == "msgpack" and isinstance(data, bytes):
        try:
            return plain_msgpack(data, f"{name}: a checkpoint of LangGraph"), ""
        except (ValueError, RecursionError) as error:
            return None, f"the checkpoint is damaged ({error}); it was dropped"
    if kind == "json" and isinstance(data, bytes | str):
        return _json(data), ""
    return None, f"the checkpoint is written as {kind!r}, which is not read; it was dropped"


def _in_order(table: str, keys: tuple[str, ...], order: str, columns: str) -> str:
    """The rows of each session together, sessions by their beginning; one sort, whatever is indexed."""
    own = ", ".join(keys)
    same = " AND ".join(f"s.{key} = t.{key}" for key in keys)
    return (
        f"SELECT {columns} FROM {table} t JOIN (SELECT {own}, MIN({order}) AS first FROM {table} GROUP BY {own}) s "
        f"ON {same} ORDER BY s.first, {', '.join(f't.{key}' for key in keys)}, t.{order}, t.rowid"
    )


def _json(value: object) -> Any:
    """A JSON cell as what it says, also where it was encoded twice; anything else as it is."""
    for _ in range(2):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        found = load_json(text) if isinstance(text, str) else NOT_JSON
        if found is NOT_JSON:
            break
        value = found
    return value


_KINDS: tuple[Callable[[Tables, str], Sessions | None], ...] = (_agents, _langgraph, _adk, _agno)
