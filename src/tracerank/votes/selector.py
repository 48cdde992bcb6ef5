"""What every learned method is, how it lies in its folder, and the one loader of such folders.

A selector decides, explains, is saved and loaded, and says which encoder it needs; what it looks at is the matter of
its own room. On disk it is a JSON description beside its weights, each file written whole or not at all. Which kinds
there are is the table ``KINDS``.
"""

import hashlib
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from tracerank.errors import CheckpointError, TraceRankError, UsageError
from tracerank.extras import missing
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import DIGEST_BYTES, question_digest
from tracerank.runs.atomic import replacing, whole_file, write_json
from tracerank.votes.base import Decision, Sure, decide_stream
from tracerank.votes.explanation import Explanation, explain_pool

if TYPE_CHECKING:
    from tracerank.embedding.base import Embedder, EncoderIdentity  # brings numpy, for which --help shall not wait

T = TypeVar("T")


CHECKSUMS = "checksums"
"""Where a description holds the BLAKE2b of the weights beside it, by their file's name."""


def write_description(path: Path, about: Mapping[str, Any], weights: str | None = None) -> None:
    """The description, last of all files: a folder that has it is complete. It holds the checksum of its weights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sums = {} if weights is None else {CHECKSUMS: {weights: _checksum(path.with_name(weights))}}
    write_json(path, {**about, **sums})


@contextmanager
def weights_file(path: Path) -> Iterator[Path]:
    """The path of a draft for weights, which then gets the name; what prevents it, such as a full disk, in one line."""
    from safetensors import SafetensorError

    try:
        with replacing(path) as draft:
            yield draft
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be written ({' '.join(str(error).split())})") from None


def _checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _check_sum(path: Path, about: Mapping[str, Any], weights: str) -> None:
    """Refuse weights of which a single bit is another than was written; folders made before hold no checksum."""
    sums = about.get(CHECKSUMS)
    wanted = sums.get(weights) if isinstance(sums, dict) else None
    beside = path.with_name(weights)
    if wanted is None or not beside.is_file():
        return  # who reads the weights says that they are missing
    try:
        found = _checksum(beside)
    except OSError as error:
        raise CheckpointError(f"{beside}: cannot be read: {error.strerror or error}") from None
    if found != wanted:
        raise CheckpointError(
            f"{beside}: damaged: its checksum is {found}, {path.name} says {wanted}; fit again or restore the folder"
        )


def read_description(path: Path, format_name: str, what: str, weights: str | None = None) -> dict[str, Any]:
    """The description of a folder, if it is of this format; ``what`` the folder should be, for messages."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{path.parent}: no {what} here; expected a folder with {' and '.join(filter(None, (path.name, weights)))}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None
    if not isinstance(about, dict) or about.get("format") != format_name:
        found = about.get("format") if isinstance(about, dict) else type(about).__name__
        raise CheckpointError(f"{path}: format is {found!r}; this version reads {format_name!r}")
    if weights is not None:
        _check_sum(path, about, weights)
    return about


@contextmanager
def checked_description(path: Path) -> Iterator[None]:
    """Turns what a damaged description raises into an error that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged ({error!r}); fit again or restore the folder") from None


def restore(kind: type[T], values: object, path: Path, section: str) -> T:
    """A dataclass of ours from what a file says about it."""
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(values, dict) or not set(values) <= known:
        unknown = sorted(set(values) - known) if isinstance(values, dict) else values
        raise CheckpointError(f"{path}: section {section!r} does not fit this version: {unknown}")
    for name, hint in get_type_hints(kind).items():
        if name in values and not _is_of(hint, values[name]):
            wanted = get_args(hint) if get_origin(hint) is Literal else getattr(hint, "__name__", hint)
            raise CheckpointError(
                f"{path}: {section} {name!r} is {str(values[name])[:80]!r}; this version knows {wanted}"
            )
    try:
        given: dict[str, Any] = {name: _frozen(value) for name, value in values.items()}
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: section {section!r} does not fit this version: {error}") from None


def _is_of(hint: Any, value: object) -> bool:
    """Whether a value of JSON may stand in a field of this type."""
    if hint in (int, bool, str):
        return type(value) is hint
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    if get_origin(hint) is Literal:
        return any(type(value) is type(known) and value == known for known in get_args(hint))
    if get_origin(hint) is tuple:
        each = get_args(hint)[0]
        return isinstance(value, list | tuple) and all(_is_of(each, item) for item in value)
    if get_origin(hint) in (Union, UnionType):
        return any(_is_of(each, value) for each in get_args(hint))
    return hint is not NoneType or value is None


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def check_finite(scores: Iterable[float]) -> None:
    """Refuse scores by which nothing can be ordered."""
    if not all(map(math.isfinite, scores)):
        raise TraceRankError("the selector produced scores that are not finite; the checkpoint is damaged")


FITTED_ON = "fitted-on.bin"
"""Beside the description: the digests of the questions that a selector was fitted on, in order; no text."""
HUB_FILES = ("*.json", "*.safetensors", "README.md", FITTED_ON, f"*/{FITTED_ON}")
"""What is fetched of a repository."""
ABOUT = "selector.json"
"""What every kind but TRACE describes itself in."""
CONFIDENCE = "confidence.json"
"""Beside it: how sure its answers are. Absent: it has a calibration of its own, or what ships tells for it."""
_CONFIDENCES = "tracerank.selectors.meaning.confidence"
"""Where it is read. A name, no import: it lies above, and looks at meanings."""
DEFAULT, BROWSING = "default", "browsing"
SHIPPED = (DEFAULT, BROWSING)
"""Selectors that come with the package; write ``./default`` for a folder of your own with such a name."""
HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?")
_UNDESCRIBED = "trace"
"""The kind of a folder without a description: its loader tells what is missing."""
KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "trace": ("tracerank.trace.selector", "TraceSelector"),
        "meaning": ("tracerank.selectors.meaning.selector", "MeaningSelector"),
        "features": ("tracerank.selectors.features.selector", "FeatureSelector"),
        "vote": ("tracerank.selectors.gate.selector", "CalibratedVote"),
        "gated": ("tracerank.selectors.gate.selector", "GatedSelector"),
    }
)
"""Kind to module and class. Names, not imports: some bring torch, and a gate loads what stands behind it by this."""

EmbedderChoice: TypeAlias = "Embedder | str | None"
"""Who gives vectors to a selector that reads them: an object, a name to load, or None for its own encoder."""


class Selector(ABC):
    """A method that was fitted: decides single pools, many, and streams of them, and lives in a folder."""

    kind: ClassVar[str]
    """What its folder says that it holds; a row of ``KINDS``."""
    confidence: Sure | None = None
    """Of its folder; None: its own calibration tells, where it has one, else what ships for every method."""

    def sure(self, pool: Pool, decision: Decision, known: Any = None) -> Decision:
        """A decision of its own with its confidence."""
        if self.confidence is not None:
            return self.confidence.told(pool, decision, known)
        if decision.confidence is not None:
            return decision
        shipped: Sure = import_module(_CONFIDENCES).shipped_confidence()
        return shipped.told(pool, decision, known)

    @property
    @abstractmethod
    def name(self) -> str:
        """What tables call it."""

    @property
    def encoder(self) -> "EncoderIdentity | None":
        """The encoder whose vectors it needs; None: it reads no vectors."""
        return None

    def decide(self, pool: Pool) -> Decision:
        """The decision for one pool."""
        return next(self.iter_decisions([pool]))

    def decide_many(self, pools: Sequence[Pool]) -> list[Decision]:
        """Decisions for many pools, in batches where that helps."""
        return list(self.iter_decisions(pools))

    @abstractmethod
    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""

    def explain(self, pool: Pool) -> Explanation:
        """The decision for one pool, explained."""
        return next(iter(self.explain_stream([pool])))[1]

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision explained, in order; unless it knows more, by what the rollouts share."""
        return ((pool, explain_pool(pool, decision)) for pool, decision in decide_stream(self, pools))

    def of_form(self, form: str) -> "Selector":
        """The same selector that returns another wording of what it chooses; only one that chooses meanings can."""
        raise UsageError(f"--form: a selector of kind {self.kind} chooses the wording itself; leave the option out")

    @abstractmethod
    def save(self, folder: str | Path) -> None:
        """Write the folder that ``load`` reads; each file appears whole or not at all."""

    @classmethod
    @abstractmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "Selector":
        """From a folder that ``save`` wrote. Who needs an encoder takes its own, unless one is given or named."""


def folder_of(name: str | Path) -> Path:
    """The folder of a shipped selector by its name, of one of the hub or behind an address; else a folder itself."""
    if name in SHIPPED:
        return Path(str(files("tracerank.selectors.shipped").joinpath(str(name))))
    if ":/" in str(name):
        from tracerank.readers.files.remote import fetched_folder, is_remote  # with all readers, which few need here

        if is_remote(str(name)):
            return fetched_folder(str(name))
    return hub_folder(str(name)) if _is_on_hub(name) else Path(name)


def _is_on_hub(name: str | Path) -> bool:
    """Whether a name can only be ``org/name`` or ``org/name@revision``: no folder, nor one it may be in."""
    if not isinstance(name, str) or HUB_NAME.fullmatch(name) is None or Path(name).exists():
        return False
    return not Path(name).parent.exists()


@cache
def hub_folder(name: str) -> Path:
    """The copy on this machine of a selector of the hub, fetched if need be; descriptions and tensors, no pickles."""
    missing_here = f"{name}: no checkpoint here; expected the folder of a selector"
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        line = missing(f"{missing_here}; one of the hub needs", "huggingface_hub", "embed")
        raise CheckpointError(line) from None
    repository, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(HUB_FILES)))
    except Exception as error:  # of the library, of the network, of the disk: there is no common one
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{missing_here}, and none on the hub ({type(error).__name__}: {reason})") from None


@dataclass(frozen=True, slots=True)
class FittedOn:
    """Pools whose questions a selector was fitted on; empty: none, or nobody knows."""

    digests: frozenset[bytes] = frozenset()

    def __contains__(self, pool: object) -> bool:
        return bool(self.digests) and isinstance(pool, Pool) and question_digest(pool.question.text) in self.digests

    def __len__(self) -> int:
        return len(self.digests)

    def __or__(self, other: "FittedOn") -> "FittedOn":
        return FittedOn(self.digests | other.digests)


def remember_fitted(folder: str | Path, questions: Iterable[str], besides: FittedOn | None = None) -> None:
    """Write down which questions the selector in a folder is fitted on, ``besides`` those known."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    known = frozenset[bytes]() if besides is None else besides.digests
    with whole_file(Path(folder) / FITTED_ON) as file:
        file.write(b"".join(sorted(known | set(map(question_digest, questions)))))


def fitted_on(folder: str | Path) -> FittedOn:
    """The questions that a folder says its selector was fitted on."""
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


def existing_folder(name: str | Path) -> Path:
    """The folder of a selector, which must be there; said before anybody installs torch for a slip of the pen."""
    place = folder_of(name)
    if not place.exists():
        raise CheckpointError(f"{place}: no checkpoint here; expected the folder of a selector")
    return place


def selector_kind(folder: str | Path) -> str:
    """Which kind a folder says that it holds, without loading it."""
    about = folder_of(folder) / ABOUT
    try:
        value = json.loads(about.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return _UNDESCRIBED
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{about}: cannot be read ({error}); train again or restore the folder") from None
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise CheckpointError(f"{about}: holds a selector of kind {kind!r}; known are {', '.join(KINDS)}")
    return str(kind)


def load_selector(
    folder: str | Path = DEFAULT, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
) -> Selector:
    """The trained selector in a folder, whatever its kind; one that reads texts takes its own encoder by default.

    Vectors of an encoder that is loaded here, its own or one that is named, are kept in the cache on disk: each text is
    encoded once ever. An embedder that is given as an object is used as it is.
    """
    place = existing_folder(folder)
    said = selector_kind(place)
    module, name = KINDS[said]
    try:
        kind: type[Selector] = getattr(import_module(module), name)
    except ImportError as error:
        by = f"{place}: a selector of kind {said} needs"
        raise CheckpointError(missing(by, error.name or "more libraries", "embed")) from None
    selector = kind.load(place, embedder, allow_encoder_mismatch=allow_encoder_mismatch)
    if (place / CONFIDENCE).exists():
        selector.confidence = import_module(_CONFIDENCES).read_confidence(place)
    return selector


def selector_digest(folder: str | Path | None) -> str | None:
    """SHA-256 of a selector's files; of a name that is no folder, the name; None: of the shipped selector's."""
    place = folder_of(folder or DEFAULT)
    if not place.is_dir():
        return None if folder is None else str(folder)
    whole = hashlib.sha256()
    for path in sorted(path for path in place.rglob("*") if path.suffix in (".json", ".safetensors")):
        with open(path, "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()
