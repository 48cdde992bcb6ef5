"""Replies of chat models on disk, so that no reply is paid for twice.

One SQLite file in WAL mode: several threads and processes may use it, and each reply is synced before it is used, so
that a kill costs the calls under way. Failures and empty replies are not kept.
"""

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tracerank.endpoints.chat import (
    ChatMessage,
    ChatModel,
    ChatReply,
    ChatTool,
    Sampling,
    TokenLogprob,
    ToolCall,
    message_to_record,
)
from tracerank.errors import ChatError
from tracerank.runs.sqlite_file import SqliteFile

FILE_NAME = "chat.sqlite"
_MARK = 0x54524B43
_TABLES = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT, reply TEXT NOT NULL) WITHOUT ROWID;"


class ReplyFile:
    """Replies by key; safe to share between threads, and the file between processes."""

    def __init__(self, folder: str | Path) -> None:
        self._file = SqliteFile(Path(folder) / FILE_NAME, _TABLES, _MARK, ChatError, synced=True)

    def __len__(self) -> int:
        with self._file.open() as file:
            return int(file.execute("SELECT count(*) FROM replies").fetchone()[0])

    def get(self, key: str) -> ChatReply | None:
        """The reply under a key; None: there is none that can be read."""
        with self._file.open() as file:
            row = file.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else _reply(json.loads(row[0]))
        except (ValueError, KeyError, TypeError):
            return None  # of another version: asked again and replaced

    def put(self, key: str, model: str, reply: ChatReply) -> None:
        with self._file.open() as file:
            file.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (key, model, json.dumps(asdict(reply))))


class CachedChat:
    """A chat model that is asked the same only once; stored replies report what they cost when they were made.

    The key is the model's name, the messages, the sampling and the tools. Where a temperature makes replies differ,
    another seed asks again; without a seed equal requests share one reply.
    """

    def __init__(self, chat: ChatModel, folder: str | Path) -> None:
        self._chat = chat
        self.file = ReplyFile(folder)
        self.asked = 0
        """Requests that the file could not answer."""
        self._lock = threading.Lock()
        self._under_way: dict[str, threading.Lock] = {}

    @property
    def name(self) -> str:
        return self._chat.name

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        key = request_key(self.name, messages, sampling, tools)
        known = self.file.get(key)
        if known is not None:
            return known
        with self._alone(key):
            known = self.file.get(key)  # another thread may have asked the same meanwhile
            if known is None:
                with self._lock:
                    self.asked += 1
                known = self._chat.reply(messages, sampling, tools)
                self.file.put(key, self.name, known)
            return known

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        with self._lock:
            lock = self._under_way.setdefault(key, threading.Lock())
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._under_way.pop(key, None)


def request_key(model: str, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> str:
    """A digest of everything that determines a reply."""
    offered = [[tool.name, tool.description, dict(tool.parameters)] for tool in tools]
    request = [model, [message_to_record(message) for message in messages], asdict(sampling), offered]
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def _reply(value: Any) -> ChatReply:
    logprobs = value["logprobs"]
    return ChatReply(
        value["text"],
        value["prompt_tokens"],
        value["completion_tokens"],
        None if logprobs is None else tuple(map(_token, logprobs)),
        tuple(ToolCall(**call) for call in value["tool_calls"]),
        value["is_cut"],
        value["reasoning"],
    )


def _token(value: Any) -> TokenLogprob:
    return TokenLogprob(value["token"], value["logprob"], tuple(map(_token, value["likely"])))
