"""Many strings in one file, read one at a time through a memory map: opening costs the same for ten and ten million."""

import mmap
from array import array
from pathlib import Path
from types import TracebackType

import numpy as np

from tracerank.errors import CorpusError


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
