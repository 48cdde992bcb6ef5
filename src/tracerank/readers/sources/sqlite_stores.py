"""SQLite stores of agent frameworks to records: one a session, with its messages or events in order.

A store is known by its columns, since names of tables can be chosen: one that names the session, one that gives the
order, and one that holds what was said. Checkpoints of LangGraph are states instead. JSON and MessagePack are read as
data; pickled columns are never asked for. What the messages say is for the readers.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product
from operator import itemgetter
from typing import Any, NamedTuple

from tracerank.errors import ReadError
from tracerank.extras import needed
from tracerank.readers.base import Problem, Record, RecordAt
from tracerank.readers.runs.transcripts import as_record, events_record
from tracerank.readers.sources.loose_json import NOT_JSON, load_json
from tracerank.readers.sources.sqlite_file import DamagedFile, Tables, opened

MAX_SESSION_BYTES = 1 << 28
_TABLES_SHOWN = 8
_MAX_DEPTH = 32
_ARRAY = 6
"""Code of numbers in an array in MessagePack; smaller ones are objects."""
_MANY = "the session asks {} times; it is one rollout, of the first question with the last answer"
_TOO_LONG = f"the session holds more than {MAX_SESSION_BYTES:,} bytes; it was dropped"
_KNOWN = (
    "sessions of the OpenAI Agents SDK, Google ADK and agno, checkpoints of LangGraph, and tables of messages with "
    "session_id or thread_id, role and content"
)
_SAID = (
    *(("message_data",), ("event_data",), ("run_data",), ("session_type", "runs"), ("author", "content")),
    ("role", "content"),
)
"""Columns that hold what was said, the last of them as JSON: of the Agents SDK, ADK, agno, older ADK, and any other."""
_SESSIONS = ("session_id", "thread_id", "conversation_id", "chat_id")
_OWNERS = ("app_name", "user_id")
"""Columns without which the session of ADK is not unique."""
_ORDERS = ("created_at", "createdAt", "timestamp", "id")


class _Kept(NamedTuple):
    """What a store keeps of one session."""

    session: str
    record: Record | None
    """None: it cannot be used."""
    size: int = 0
    problems: tuple[str, ...] = ()


Sessions = Iterator[_Kept]
Rows = Iterator[tuple[Any, ...]]


def iter_store(name: str) -> Iterator[RecordAt | Problem]:
    """The sessions of a store in the order in which they began, with a Problem in the place of each that is damaged."""
    with opened(name) as tables:
        found = _checkpoints(tables, name) or _sessions(tables)
        if found is None:
            own = [table for table in tables.columns if not table.startswith("sqlite_")]
            shown = ", ".join(own[:_TABLES_SHOWN]) + (", …" if len(own) > _TABLES_SHOWN else "")
            reason = f"a SQLite file whose tables are not known ({shown or 'it has none'}); known are {_KNOWN}"
            raise ReadError(f"{name}: {reason}; export others as JSON Lines")
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


# ---- a row for each message, event or run


def _sessions(tables: Tables) -> Sessions | None:
    for said, key, order in product(_SAID, _SESSIONS, _ORDERS):
        table = tables.with_columns(key, order, *said)
        if table is None:
            continue
        keys = (*_OWNERS, key) if tables.with_columns(*_OWNERS, key, order, *said) == table else (key,)
        query = _branches(tables, table) if said == _SAID[0] else None
        rows = tables.rows(query or _in_order(table, keys, order, said))
        return _runs(rows) if said[-1] in ("run_data", "runs") else _transcripts(rows, said[0])
    return None


def _in_order(table: str, keys: Sequence[str], order: str, columns: Sequence[str]) -> str:
    """The rows of each session together, named by their keys, sessions by their beginning; one sort."""
    own = ", ".join(keys)
    name = " || '/' || ".join(f"t.{key}" for key in keys)
    same = " AND ".join(f"s.{key} = t.{key}" for key in keys)
    return (
        f"SELECT {name}, {', '.join(f't.{one}' for one in columns)} FROM {table} t JOIN (SELECT {own}, MIN({order}) "
        f"AS first FROM {table} GROUP BY {own}) s ON {same} "
        f"ORDER BY s.first, {', '.join(f't.{key}' for key in keys)}, t.{order}, t.rowid"
    )


def _branches(tables: Tables, messages: str) -> str | None:
    """``AdvancedSQLiteSession`` of the Agents SDK: each branch is a session."""
    branches = tables.with_columns("session_id", "message_id", "branch_id", "sequence_number")
    return branches and (
        f"SELECT b.session_id || '/' || b.branch_id AS branch, m.message_data FROM {branches} b "
        f"JOIN {messages} m ON m.id = b.message_id ORDER BY b.session_id, b.branch_id, b.sequence_number"
    )


def _by_session(rows: Rows) -> Iterator[tuple[str, list[tuple[Any, ...]], int]]:
    """The rows of each session without their first column, which names it, and their bytes; none where too many."""
    for session, of_session in groupby(rows, key=itemgetter(0)):
        kept: list[tuple[Any, ...]] = []
        size = 0
        for row in of_session:
            size += sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
            if size <= MAX_SESSION_BYTES:
                kept.append(row[1:])
            else:
                kept.clear()
        yield str(session), kept, size


def _transcripts(rows: Rows, speaker: str) -> Sessions:
    """``speaker`` is the column that names it, where what was said does not."""
    for session, kept, size in _by_session(rows):
        if size > MAX_SESSION_BYTES:
            yield _Kept(session, None, 0, (_TOO_LONG,))
            continue
        items = [item for row in kept if isinstance(item := _item(speaker, row), Mapping)]
        lost = len(kept) - len(items)
        problems = [f"{lost} of {len(kept)} rows hold no JSON object; they were dropped"] if lost else []
        record = (as_record(items) or events_record(items)) if items else None
        yield _Kept(session, record, size, (*problems, *_asks_often(items)))


def _item(speaker: str, row: tuple[Any, ...]) -> Any:
    said = _json(row[-1])
    if len(row) == 1:
        return said
    is_whole = speaker == "role" and isinstance(said, Mapping)  # beside the role may stand all of the message
    return {speaker: row[0], **said} if is_whole else {speaker: row[0], "content": said}


def _asks_often(items: Sequence[object]) -> tuple[str, ...]:
    """The remark that a session asks again after it was answered."""
    asked, has_answered = 0, True
    for item in items:
        is_asked = _asks(item)
        asked += is_asked and has_answered
        has_answered = not is_asked
    return (_MANY.format(asked),) if asked > 1 else ()


def _asks(item: object) -> bool:
    """Whether an item is what a user said, rather than what came back from a call."""
    if not isinstance(item, Mapping):
        return False
    content = item.get("content", item.get("parts"))
    if item.get("author", item.get("role", item.get("type"))) not in ("user", "human") or content is None:
        return False
    parts = content.get("parts") if isinstance(content, Mapping) else content
    return isinstance(parts, str) or (isinstance(parts, list) and any("text" in part for part in parts if part))


def _runs(rows: Rows) -> Sessions:
    """One record a run: each says what it was given. What it kept of earlier runs, and runs of members, are left."""
    for session, kept, size in _by_session(rows):
        if size > MAX_SESSION_BYTES:
            yield _Kept(session, None, 0, (_TOO_LONG,))
        for *_, cell in kept:
            found = _json(cell)
            for run in map(_json, found if isinstance(found, list) else [found]):
                if not isinstance(run, Mapping):
                    yield _Kept(session, None, 0, ("a run is no JSON object; it was dropped",))
                elif not run.get("parent_run_id"):
                    listed = run.get("messages")
                    own = [one for one in listed if not _is_history(one)] if isinstance(listed, list) else []
                    yield _Kept(session, {**run, "messages": own}, size // max(1, len(kept)))


def _is_history(message: object) -> bool:
    return isinstance(message, Mapping) and message.get("from_history") is True


# ---- checkpoints


def _checkpoints(tables: Tables, name: str) -> Sessions | None:
    """``SqliteSaver``: the last state of each thread; graphs inside the graph have a name space of their own."""
    checkpoints = tables.with_columns("thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint")
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


def _threads(tables: Tables, name: str, rows: Rows, writes: str | None) -> Sessions:
    for thread, kind, data in rows:
        state, problem = _payload(name, kind, data)
        values = state.get("channel_values") if isinstance(state, Mapping) else None
        if not isinstance(values, Mapping):
            yield _Kept(str(thread), None, 0, (problem or "the checkpoint holds no state; it was dropped",))
            continue
        record = {key: value for key, value in values.items() if not key.startswith(("__", "branch:"))}
        if not isinstance(record.get("messages"), list) and writes is not None:
            record |= _written(tables, name, writes, str(thread))
        messages = record.get("messages")
        yield _Kept(str(thread), record, len(data), _asks_often(messages if isinstance(messages, list) else ()))


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
        added = _payload(name, kind, data)[0] if size <= MAX_SESSION_BYTES else None
        messages += added if isinstance(added, list) else [added] if isinstance(added, Mapping) else []
    return {"messages": messages} if messages else {}


def _payload(name: str, kind: object, data: object) -> tuple[Any, str]:
    """A value as its type says it was written, or why it is not read."""
    if kind == "json" and isinstance(data, bytes | str):
        return _json(data), ""
    if kind != "msgpack" or not isinstance(data, bytes):
        return None, f"the checkpoint is written as {kind!r}, which is not read; it was dropped"
    with needed(f"{name}: a checkpoint of LangGraph needs", "readers", ReadError):
        module = importlib.import_module("ormsgpack")
    try:
        return _plain_msgpack(module, data, _MAX_DEPTH), ""
    except (ValueError, RecursionError) as error:
        return None, f"the checkpoint is damaged ({error}); it was dropped"


def _plain_msgpack(module: Any, data: bytes, depth: int) -> Any:
    """The value that the bytes hold; an object becomes the fields it was made of, nothing it names is imported."""

    def made(code: int, raw: bytes) -> Any:
        inside = None if code == _ARRAY else _plain_msgpack(module, raw, depth - 1)
        # (module, class, what it was made of, …)
        if code < _ARRAY and isinstance(inside, list) and len(inside) > 2 and isinstance(inside[0], str):
            return inside[2]
        return inside

    if depth == 0:
        return None
    return _plain(module.unpackb(data, ext_hook=made, option=module.OPT_NON_STR_KEYS), depth)


def _plain(value: Any, depth: int) -> Any:
    """A value as JSON would hold it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _json(value: object) -> Any:
    """A JSON cell as what it says, also where it was encoded twice; anything else as it is."""
    for _ in range(2):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        found = load_json(text) if isinstance(text, str) else NOT_JSON
        if found is NOT_JSON:
            break
        value = found
    return value
