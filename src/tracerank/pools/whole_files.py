"""Files of JSON Lines that are written whole or not at all."""

import gzip
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from tracerank.errors import UsageError


def write_lines(path: str | os.PathLike[str], records: Iterable[Mapping[str, Any]]) -> None:
    """Write one record a line, gzip-compressed when the name ends with .gz."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise UsageError(f"{os.fspath(path)}: is a directory; name a file in it, for example pools.jsonl.gz")
    # A pipe or a device cannot be renamed onto.
    goes_direct = target.exists() and not target.is_file()
    draft = target if goes_direct else target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(draft, "wb") as file:
            if os.fspath(path).endswith(".gz"):
                # No name and time inside: the same records give the same bytes.
                with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                    _write(cast(BinaryIO, packed), records)
            else:
                _write(file, records)
        if not goes_direct:
            os.replace(draft, target)
    except BaseException as error:
        if not goes_direct:
            with suppress(OSError):
                draft.unlink()
        if isinstance(error, OSError):
            raise UsageError(f"{os.fspath(path)}: cannot be written ({error.strerror or error})") from None
        raise


def _write(file: BinaryIO, records: Iterable[Mapping[str, Any]]) -> None:
    for record in records:
        try:
            line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:
            # Lone surrogates and integers beyond 64 bits, which only the standard library writes.
            line = json.dumps(record).encode() + b"\n"
        file.write(line)
