"""Files that commands write: never over an input, and a run that is killed can be given again."""

import os
from collections.abc import Sequence
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from tracerank.errors import UsageError
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.remote import remote_identity
from tracerank.runs.resumable import settings_file

SOME_FAILED = 3
"""Exit code of a command that is done, but some rollouts or questions failed."""


def check_output(path: Path, inputs: Sequence[Path], force: bool, *, is_resumable: bool = False) -> None:
    """Refuse a name that would cost the user a file; a resumable run says itself whether what is there is its own."""
    if path.is_dir():
        raise UsageError(f"{path}: is a directory; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist; make it first")
    if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
        raise UsageError(f"{path}: is one of the input files; choose another name")
    check_outside(path, inputs)
    if path.is_file() and not force and not (is_resumable and settings_file(path).exists()):
        raise UsageError(f"{path}: already exists; choose another name or overwrite it with --force")


def check_outside(path: Path, inputs: Sequence[Path]) -> None:
    """Refuse to write into a folder that is read."""
    if any(other.is_dir() and path.resolve().is_relative_to(other.resolve()) for other in inputs):
        raise UsageError(f"{path}: lies in a folder that is read; the next run would read it, too: write it elsewhere")


def check_lines(path: Path) -> None:
    """Refuse a name that says a table, for what is written as JSON Lines: rollouts do not fit in cells."""
    if path.suffix.lower() in (".csv", ".tsv", ".parquet", ".xlsx"):
        raise UsageError(f"{path}: rollouts are not a table; name a file that ends in .jsonl or .jsonl.gz")


def fingerprint(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Whether files are still the same: name, size and a digest of what is in them."""
    names = [name for path in files for name in find_files(path).names]
    return [_identity(Path(name)) if os.path.lexists(name) else remote_identity(name) for name in names]


def _identity(path: Path) -> dict[str, Any]:
    found = path.stat()
    known = {"path": str(path.resolve()), "bytes": found.st_size}
    if not path.is_file():  # a pipe can be read only once
        return {**known, "modified": found.st_mtime_ns}
    with open(path, "rb") as file:
        return {**known, "blake2b": file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()}
