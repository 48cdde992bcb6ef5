"""Verdicts of a chat model on disk: one JSON line each, appended and synced, so that a killed run can go on."""

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from tracerank.errors import TraceRankError


class VerdictFile:
    """Yes or no by model and prompt; in memory only when there is no path. Safe to share between threads."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self._known: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._ends_clean = True
        if self.path is not None:
            self._load(self.path)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, model: str, prompt: str) -> bool | None:
        """The verdict on a prompt; None: not asked yet."""
        return self._known.get(_key(model, prompt))

    def put(self, model: str, prompt: str, verdict: bool, about: Mapping[str, str]) -> None:
        """Keeps a verdict; what it is about is written for readers of the file and never read back."""
        key = _key(model, prompt)
        line = json.dumps({"key": key, "verdict": verdict, "model": model, **about}) + "\n"
        with self._lock:
            self._known[key] = verdict
            if self.path is not None:
                # A line that a kill has cut stays behind as a line of its own.
                self._append(self.path, line if self._ends_clean else "\n" + line)
                self._ends_clean = True

    def _load(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise TraceRankError(f"{path}: cannot be read ({error.strerror or error})") from None
        self._ends_clean = not data or data.endswith(b"\n")
        for line in data.splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and isinstance(row.get("key"), str) and isinstance(row.get("verdict"), bool):
                self._known[row["key"]] = row["verdict"]

    def _append(self, path: Path, line: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(line.encode("utf-8", "surrogatepass"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise TraceRankError(f"{path}: cannot be written ({error.strerror or error})") from None


def _key(model: str, prompt: str) -> str:
    """The prompt holds the question, the pair and the wording, so another wording asks again."""
    return hashlib.sha256(json.dumps([model, prompt]).encode()).hexdigest()
