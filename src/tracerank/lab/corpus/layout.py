"""How an index lies on disk: ``index.json``, written last, so that a folder with it is whole; many strings in one file.

Strings are read one at a time through a memory map: opening costs the same for ten and ten million.
"""

import json
import mmap
from array import array
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType

import numpy as np

from tracerank.errors import CorpusError
from tracerank.lab.corpus.bm25 import LANGUAGE

FORMAT = "tracerank-corpus/1"
FILE = "index.json"


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """The numbers of an index and what it was made with."""

    documents: int
    passages: int
    terms: int
    """Distinct index terms."""
    words: int
    """Most words of a passage."""
    overlap: int
    """Most words that neighbouring passages share."""
    dropped: int
    """Rows that could not be read."""
    copies: int
    """Rows left out because an earlier one has the same title and text."""
    fingerprint: str
    """Equal for equal documents cut and indexed alike."""
    language: str = LANGUAGE
    format: str = FORMAT

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_info(folder: Path) -> CorpusInfo:
    """What the index in a folder says about itself."""
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise CorpusError(f"{folder}: no index; make one with tracerank corpus build DOCS.jsonl -o {folder}") from None
    except ValueError:
        raise CorpusError(f"{path}: is damaged; build the index again") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        what = found.get("format") if isinstance(found, dict) else None
        raise CorpusError(f"{path}: format {what!r} is unknown to this version, which reads {FORMAT!r}; build it again")
    try:
        return CorpusInfo(**{field.name: found[field.name] for field in fields(CorpusInfo)})
    except KeyError as error:
        raise CorpusError(f"{path}: lacks {error}; build the index again") from None


class TextWriter:
    """Strings end to end as UTF-8 in NAME.bin, where each begins in NAME.npy."""

    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._offsets = array("q", [0])

    def __enter__(self) -> "TextWriter":
        self._file = open(self._stem.with_suffix(".bin"), "wb")
        return self

    def append(self, data: bytes) -> None:
        self._file.write(data)
        self._offsets.append(self._offsets[-1] + len(data))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            np.save(self._stem.with_suffix(".npy"), np.frombuffer(self._offsets, np.int64))


class TextTable:
    """The strings of a TextWriter by number."""

    def __init__(self, stem: Path) -> None:
        path = stem.with_suffix(".bin")
        self._offsets = np.asarray(np.load(stem.with_suffix(".npy"), mmap_mode="r"))
        with open(path, "rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self._offsets) < 2 or int(self._offsets[-1]) != len(self._data):
            raise CorpusError(f"{path}: has not the length that it was written with; build the index again")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> str:
        return self._data[self._offsets[number] : self._offsets[number + 1]].decode()

    def part(self, number: int, start: int, end: int) -> str:
        """From byte ``start`` to byte ``end`` of one string."""
        offset = int(self._offsets[number])
        return self._data[offset + start : offset + end].decode()
