"""The folder of a fitted method: a JSON description, weights with checksums, the questions it was fitted on.

A folder is written file by file, each whole or not at all, the description last. ``methods.py`` says which class loads
it. No pickles are read, and files are bounded.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from tracerank.errors import CheckpointError
from tracerank.extras import missing
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import DIGEST_BYTES, question_digest
from tracerank.runs.atomic import replacing, whole_file, write_json

T = TypeVar("T")

ABOUT = "selector.json"
"""The description of every kind but TRACE."""
CONFIDENCE = "confidence.json"
"""Beside it: a calibration of its own. Absent: the one that ships is used."""
CHECKSUMS = "checksums"
"""Where a description holds the BLAKE2b of the weights beside it, by their file's name."""
FITTED_ON = "fitted-on.bin"
"""Beside the description: the digests of the questions that a selector was fitted on, in order; no text."""
MAX_DESCRIPTION_BYTES = 16 << 20
SHIPPED = "evidence"
"""The name of the selector that comes with the package."""
TRACE = "trace"
"""The kind of a folder without a description of ours: its loader reports what is missing. And the name of the network
that comes with the package."""
KINDS = (SHIPPED, TRACE, "vote")
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?")
_HUB_FILES = ("*.json", "*.safetensors", "README.md", FITTED_ON, f"*/{FITTED_ON}")


def write_description(path: Path, about: Mapping[str, Any], weights: str | None = None) -> None:
    """The description, last of all files, so that a folder that has it is complete; with a checksum of its weights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sums = {} if weights is None else {CHECKSUMS: {weights: _checksum(path.with_name(weights))}}
    write_json(path, {**about, **sums})


@contextmanager
def weights_file(path: Path) -> Iterator[Path]:
    """The path of a draft for weights, which then gets the name; a failure such as a full disk becomes one line."""
    from safetensors import SafetensorError

    try:
        with replacing(path) as draft:
            yield draft
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be written ({' '.join(str(error).split())})") from None


def _checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def read_json(path: Path) -> Any:
    """The value of a JSON file of a folder; refuses what is no regular file of a sane size."""
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path}: no regular file; expected a description in JSON")
    try:
        if path.stat().st_size > MAX_DESCRIPTION_BYTES:
            raise CheckpointError(f"{path}: over {MAX_DESCRIPTION_BYTES >> 20} MB; no description is that large")
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None


def read_description(path: Path, format_name: str, what: str, weights: str | None = None) -> dict[str, Any]:
    """The description of a folder, if it is of this format; ``what`` the folder should be, for messages."""
    try:
        about = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{path.parent}: no {what} here; expected a folder with {' and '.join(filter(None, (path.name, weights)))}"
        ) from None
    if not isinstance(about, dict) or about.get("format") != format_name:
        found = about.get("format") if isinstance(about, dict) else type(about).__name__
        raise CheckpointError(f"{path}: format is {found!r}; this version reads {format_name!r}")
    sums = about.get(CHECKSUMS)
    wanted = sums.get(weights) if weights is not None and isinstance(sums, dict) else None
    beside = path.with_name(weights or path.name)
    if wanted is None or not beside.is_file():
        return about  # no checksum; or the reader of the weights reports that they are missing
    try:
        found = _checksum(beside)
    except OSError as error:
        raise CheckpointError(f"{beside}: cannot be read: {error.strerror or error}") from None
    if found != wanted:
        raise CheckpointError(
            f"{beside}: damaged: its checksum is {found}, {path.name} says {wanted}; fit again or restore the folder"
        )
    return about


@contextmanager
def checked_description(path: Path) -> Iterator[None]:
    """Turns what a damaged description raises into an error that names the file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged ({error!r}); fit again or restore the folder") from None


def restore(kind: type[T], values: object, path: Path, section: str) -> T:
    """A dataclass of ours from a section of a description."""
    import msgspec  # for networks alone

    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    unknown = values if not isinstance(values, dict) else sorted(set(values) - known)
    if not isinstance(values, dict) or unknown:
        raise CheckpointError(f"{path}: section {section!r} does not fit this version: {unknown}")
    try:
        return msgspec.convert(values, kind)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: section {section!r} does not fit this version: {error}") from None


def folder_of(name: str | Path) -> Path:
    """The folder that a name stands for: what ships, a repository of the hub, an address, or a folder itself."""
    if name in (SHIPPED, TRACE):
        return Path(str(files(f"tracerank.{name}").joinpath("shipped")))
    if ":/" in str(name):
        from tracerank.readers.sources.remote import fetched_folder, is_remote  # brings all readers

        if is_remote(str(name)):
            return fetched_folder(str(name))
    return hub_folder(str(name)) if _is_on_hub(name) else Path(name)


def _is_on_hub(name: str | Path) -> bool:
    """Whether a name can only be ``org/name`` or ``org/name@revision``: no folder, nor a path into one."""
    return isinstance(name, str) and bool(_HUB_NAME.fullmatch(name)) and not Path(name).parent.exists()


@cache
def hub_folder(name: str) -> Path:
    """The local copy of a repository of the hub, fetched if need be; descriptions and tensors, no pickles."""
    missing_here = f"{name}: no checkpoint here; expected the folder of a selector"
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        line = missing(f"{missing_here}; one of the hub needs", "huggingface_hub", "embed")
        raise CheckpointError(line) from None
    repository, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(_HUB_FILES)))
    except Exception as error:  # of the library, of the network, of the disk: they share no base class
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{missing_here}, and not on the hub ({type(error).__name__}: {reason})") from None


def existing_folder(name: str | Path) -> Path:
    """The folder of a selector, which must be there."""
    folder = folder_of(name)
    if not folder.exists():
        raise CheckpointError(f"{folder}: no checkpoint here; expected the folder of a selector")
    return folder


def selector_kind(folder: str | Path) -> str:
    """The kind of selector in a folder, without loading it."""
    about = folder_of(folder) / ABOUT
    try:
        value = read_json(about)
    except (FileNotFoundError, NotADirectoryError):
        return TRACE
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise CheckpointError(f"{about}: holds a selector of kind {kind!r}; known are {', '.join(KINDS)}")
    return kind


def selector_digest(folder: str | Path) -> str:
    """SHA-256 of a selector's files; the name itself where it is no folder."""
    path = folder_of(folder)
    if not path.is_dir():
        return str(folder)
    whole = hashlib.sha256()
    for file_path in sorted(each for each in path.rglob("*") if each.suffix in (".json", ".safetensors")):
        with open(file_path, "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class FittedOn:
    """Questions that a selector was fitted on; empty: none, or unknown."""

    digests: frozenset[bytes] = frozenset()

    def __contains__(self, pool: object) -> bool:
        return bool(self.digests) and isinstance(pool, Pool) and question_digest(pool.question.text) in self.digests

    def __len__(self) -> int:
        return len(self.digests)

    def __or__(self, other: "FittedOn") -> "FittedOn":
        return FittedOn(self.digests | other.digests)


def remember_fitted(folder: str | Path, questions: Iterable[str], besides: FittedOn | None = None) -> None:
    """Write which questions the selector in a folder is fitted on, ``besides`` those known."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    known = frozenset[bytes]() if besides is None else besides.digests
    with whole_file(Path(folder) / FITTED_ON) as file:
        file.write(b"".join(sorted(known | set(map(question_digest, questions)))))


def fitted_on(folder: str | Path) -> FittedOn:
    """The questions that a folder's selector was fitted on."""
    path = folder_of(folder) / FITTED_ON
    try:
        found = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return FittedOn()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror}); restore it") from None
    if len(found) % DIGEST_BYTES:
        raise CheckpointError(f"{path}: damaged; fit again or restore the folder")
    return FittedOn(frozenset(found[at : at + DIGEST_BYTES] for at in range(0, len(found), DIGEST_BYTES)))
