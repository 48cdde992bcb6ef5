"""Files behind addresses: ``s3://``, ``gs://``, ``hf://``, ``https://`` and whatever else fsspec knows.

A file is fetched whole, read like any other, and gone afterwards; to read parts of it, open it. Holds no keys: each
store finds its own where its users keep them. Nothing is written behind an address here; ``scale/places.py`` does that.
"""

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from tracerank.errors import ReadError, TraceRankError
from tracerank.extras import needed

# A path object has taken one of the two strokes away; two letters or more, since one is a drive.
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}(?=[^/])")
_PLAIN = ("file", "local")
_LIBRARIES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), "adlfs"),
    **dict.fromkeys(("http", "https"), "aiohttp"),
    "hf": "huggingface_hub",
}
"""What fsspec asks by, where it is not in the extra."""


def is_remote(name: str) -> bool:
    """Whether a name is an address, and no file that happens to be called so."""
    found = _ADDRESS.match(name)
    return found is not None and found[1] not in _PLAIN and not os.path.lexists(name)


def address(name: str) -> str:
    """The address with both of its strokes."""
    return _ADDRESS.sub(lambda found: f"{found[1]}://", name, count=1)


def remote_files(name: str) -> list[str]:
    """The files that an address, a folder or a pattern behind one stands for, as addresses."""
    url = address(name)
    with store_errors(url):
        files, path = store_of(url)
        if any(mark in path for mark in "*["):
            found = files.glob(path)
        elif not url.startswith("http") and files.isdir(path):
            found = files.find(path)
        else:
            return [url]
        # A store in memory names its files from a root.
        named = sorted(re.sub(":///+", "://", str(files.unstrip_protocol(one)), count=1) for one in found)
    return [one for one in named if not one.rpartition("/")[2].startswith((".", "_"))]


def remote_identity(name: str) -> dict[str, Any]:
    """What shows whether a remote file is still the same: its size and the store's own mark of its content."""
    url = address(name)
    with store_errors(url):
        files, path = store_of(url)
        about = files.info(path)
        marks = ("ETag", "etag", "mtime", "LastModified", "last_modified", "created", "updated")
        return {
            "path": url,
            "bytes": about.get("size"),
            "mark": next((str(about[m]) for m in marks if m in about), None),
        }


@contextmanager
def opened_remote(name: str) -> Iterator[BinaryIO]:
    """The open file behind an address, of which parts are fetched as they are asked for."""
    url = address(name)
    with store_errors(url):
        files, path = store_of(url)
        stream = files.open(path, "rb")
    with stream:
        yield cast(BinaryIO, stream)


@contextmanager
def fetched(name: str) -> Iterator[Path]:
    """A copy on this machine, for as long as it is read."""
    url = address(name)
    with tempfile.TemporaryDirectory(prefix="tracerank-") as folder:
        copy = Path(folder) / (url.rpartition("/")[2] or "file")
        with store_errors(url), opened_remote(url) as stream, open(copy, "wb") as file:
            shutil.copyfileobj(stream, file)
        yield copy


@cache
def fetched_folder(name: str) -> Path:
    """A copy of a folder on this machine, for as long as this process lives."""
    folder = tempfile.TemporaryDirectory(prefix="tracerank-")
    atexit.register(folder.cleanup)
    top = address(name).rstrip("/")
    with store_errors(top):
        files, path = store_of(top)
        for one in files.find(path):
            copy = Path(folder.name, str(one).removeprefix(path).lstrip("/"))
            copy.parent.mkdir(parents=True, exist_ok=True)
            files.get_file(one, str(copy))
    return Path(folder.name)


def store_of(url: str) -> tuple[Any, str]:
    """What fsspec has for an address, and the path there."""
    with needed(f"{url}: an address needs", "readers", ReadError):
        from fsspec.core import url_to_fs
    _survive_forks()
    files, path = url_to_fs(url)
    return files, str(path)


@cache
def _survive_forks() -> None:
    """A forked worker would wait for ever for the thread of its parent in which fsspec asks."""
    from fsspec.asyn import reset_lock

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset_lock)


@contextmanager
def store_errors(url: str) -> Iterator[None]:
    """What a store raises as a ReadError of one line; stores have no common class of errors."""
    try:
        yield
    except TraceRankError:
        raise
    except ImportError as error:
        kind = url.partition(":")[0]
        library = _LIBRARIES.get(kind) or error.name or "a library of its own"
        raise ReadError(f"{url}: {kind}:// needs {library}: pip install {library}") from None
    except FileNotFoundError:
        raise ReadError(f"{url}: no such file; check the address") from None
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ReadError(
            f"{url}: the store does not answer as it should ({reason}); check the address and your keys"
        ) from None
