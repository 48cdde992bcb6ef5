"""Models that run in this process: those of sentence-transformers, and Qwen3-Embedding as the paper uses it.

Holds how a model is found, loaded and run on one batch, not which texts go together. torch and transformers load with
the first model.
"""

import hashlib
import importlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tracerank.embedding.base import Vectors
from tracerank.errors import EmbeddingError

QWEN3_MAX_LENGTH = 4096
"""Tokens kept of a text, from its start (App. H)."""

_INSTALL = "pip install sentence-transformers"
_SAMPLED_WEIGHTS = 64  # values of each weight tensor that enter the fingerprint


class LocalModel(Protocol):
    """What the embedder needs of a loaded model."""

    width: int
    max_length: int | None  # tokens kept of a text; None: all
    pooling: str
    prompt: str  # put before every text

    def token_counts(self, texts: list[str]) -> list[int]: ...
    def pooled(self, texts: list[str]) -> Vectors:
        """One row per text, not yet sliced or normalised; all texts go through together."""
        ...

    def weights_digest(self) -> str: ...
    def quantize(self) -> None:
        """Compute in 8-bit integers from now on."""
        ...


class _SentenceTransformer:
    """A sentence-transformers model with its own pooling, prompt and length limit."""

    def __init__(self, source: str, local_only: bool) -> None:
        import torch

        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise EmbeddingError(f"{source}: needs sentence-transformers; {_INSTALL}") from None

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

    def weights_digest(self) -> str:
        return _weights_digest(self._net)

    def quantize(self) -> None:
        _quantize(self._net, self.pooled)


class _Qwen3:
    """Qwen3-Embedding as in the paper: no instruction, left padding, right truncation, last token (App. A.4, H)."""

    max_length: int | None = QWEN3_MAX_LENGTH
    pooling = "last"
    prompt = ""

    def __init__(self, source: str, local_only: bool) -> None:
        import torch

        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise EmbeddingError(f"{source}: needs transformers; {_INSTALL}") from None

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
        self._net: Any = net.to(device).eval()
        self.width = int(net.config.hidden_size)

    def token_counts(self, texts: list[str]) -> list[int]:
        return _token_counts(self._tokenizer, texts, self.max_length)

    def pooled(self, texts: list[str]) -> Vectors:
        import torch

        ids = self._tokenizer(texts, truncation=True, max_length=self.max_length)["input_ids"]
        pad = self._tokenizer.pad_token_id or 0
        longest = max(1, *map(len, ids)) if ids else 1
        # A text without tokens reads as one padding token, which Qwen3's own tokenizer appends to every text.
        padded = torch.tensor([[pad] * (longest - len(row)) + row for row in ids], device=self._net.device)
        starts = torch.tensor([[min(longest - len(row), longest - 1)] for row in ids], device=self._net.device)
        mask = (torch.arange(longest, device=self._net.device) >= starts).long()  # [texts, tokens]
        with torch.inference_mode():
            states = self._net(input_ids=padded, attention_mask=mask, use_cache=False).last_hidden_state
        last: Vectors = states[:, -1].float().cpu().numpy()  # padding is on the left
        return last

    def weights_digest(self) -> str:
        return _weights_digest(self._net)

    def quantize(self) -> None:
        _quantize(self._net, self.pooled)


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
        raise EmbeddingError(f"{source}: cannot be loaded: {_first_line(error)}; {_INSTALL}") from error
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


def _weights_digest(net: Any) -> str:
    """Digest of a few values of every weight, rounded to BF16: the same on every machine and in every file format."""
    digest = hashlib.blake2b(digest_size=8)
    for name, tensor in sorted(net.state_dict().items()):
        flat = tensor.detach().reshape(-1)
        sample = flat[:: max(1, flat.numel() // _SAMPLED_WEIGHTS)].float().bfloat16().float().cpu().numpy()
        digest.update(f"{name} {tuple(tensor.shape)}".encode() + sample.astype("<f4").tobytes())
    return digest.hexdigest()


def _quantize(net: Any, pooled: Callable[[list[str]], Vectors]) -> None:
    from tracerank.embedding.int8 import CALIBRATION_TEXTS, quantize_linears

    quantize_linears(net, lambda: pooled(list(CALIBRATION_TEXTS)))


def multiplies_int8_fast() -> bool:
    """Whether the vectors will be computed on a processor for which torch has quick integer products."""
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
    try:
        logging: Any = importlib.import_module("transformers.utils.logging")
    except ImportError:
        raise EmbeddingError(f"local encoders need transformers; {_INSTALL}") from None
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
