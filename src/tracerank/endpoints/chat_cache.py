"""Replies of chat models on disk, so that no reply is paid for twice.

One SQLite file in WAL mode: several threads and processes may use it, and each reply is synced before it is used, so
that a kill costs the calls under way. Failures and empty replies are not kept.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from tracerank.endpoints.chat import ChatMessage, ChatModel, ChatReply, ChatTool, Sampling, message_to_record
from tracerank.errors import ChatError
from tracerank.runs.sqlite_file import SqliteFile

FILE_NAME = "chat.sqlite"
_MARK = 0x54524B43
_TABLES = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT, reply TEXT NOT NULL) WITHOUT ROWID;"


class CachedChat:
    """A chat model that is asked the same only once; stored replies report what they cost when they were made.

    The key is the model's name, the messages, the sampling and the tools. Where a temperature makes replies differ,
    another seed asks again; without a seed equal requests share one reply.
    """

    def __init__(self, chat: ChatModel, folder: str | Path) -> None:
        self._chat = chat
        self._file = SqliteFile(Path(folder) / FILE_NAME, _TABLES, _MARK, ChatError, synced=True)
        self.asked = 0
        """Requests that the file could not answer."""

    @property
    def name(self) -> str:
        return self._chat.name

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        key = request_key(self.name, messages, sampling, tools)
        known = self._stored(key)
        if known is None:
            self.asked += 1
            known = self._chat.reply(messages, sampling, tools)
            row = (key, self.name, json.dumps(asdict(known)))
            with self._file.open() as file:
                file.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", row)
        return known

    def _stored(self, key: str) -> ChatReply | None:
        with self._file.open() as file:
            row = file.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else msgspec.convert(json.loads(row[0]), ChatReply)
        except ValueError:  # msgspec's, too
            return None  # of another version: asked again and replaced


def request_key(model: str, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> str:
    """A digest of everything that determines a reply."""
    offered = [list(asdict(tool).values()) for tool in tools]
    request = [model, [message_to_record(message) for message in messages], asdict(sampling), offered]
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
