"""What an embeddings server says: vectors in a reply, its own words in an error; neither sends nor retries."""

import base64
import binascii
import email.utils
import json
import re
import time
from typing import Any

import numpy as np

from tracerank.embedding.base import Vectors
from tracerank.errors import EmbeddingError

_TOO_LONG = re.compile(r"too (long|large)|context (length|size|window)|larger than", re.I)
_OVER_A_LIMIT = re.compile(r"too many|longer than|exceed|maximum|batch size", re.I)
_NO_MODEL = re.compile(
    r"model\b.*\b(not found|not exist|unknown|invalid|not available|not supported)"
    r"|(unknown|invalid|no such|unsupported)\b.*\bmodel|model_not_found",
    re.I,
)


class CutReply(Exception):
    """The body ends before the JSON does."""


def read_json(body: bytes, url: str) -> Any:
    """The reply's value; NaN is let through so that the row can be named later."""
    try:
        return json.loads(body)
    except ValueError:
        if body.lstrip()[:1] in (b"", b"{", b"["):
            raise CutReply from None
    raise EmbeddingError(f"{url}: answered something that is not JSON; is it an OpenAI-compatible server?")


def read_rows(reply: Any, count: int, url: str) -> Vectors:
    """The vectors of one reply in the order of its texts: float32 [count, width]."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise EmbeddingError(f"{url}: answered without a list 'data' of embeddings")
    if len(data) != count:
        raise EmbeddingError(f"{url}: returned {len(data)} vectors for {count} texts")
    rows: list[Vectors | None] = [None] * count
    for row in data:
        index = row.get("index")
        if type(index) is not int or not 0 <= index < count:
            raise EmbeddingError(f"{url}: returned a vector with index {index!r}; expected 0 to {count - 1}")
        if rows[index] is not None:
            raise EmbeddingError(f"{url}: returned two vectors with index {index}")
        rows[index] = _read_vector(row.get("embedding"), url)
    vectors = [row for row in rows if row is not None]  # all: count distinct indices below count
    widths = sorted({len(vector) for vector in vectors})
    if len(widths) > 1:
        raise EmbeddingError(f"{url}: returned vectors of different widths in one reply: {widths}")
    return np.stack(vectors)


def _read_vector(value: object, url: str) -> Vectors:
    """One embedding, as numbers or as the base64 of little-endian float32, whichever the server sent."""
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            vector = np.asarray(value)
    except (binascii.Error, ValueError):
        raise EmbeddingError(f"{url}: returned an embedding that is neither base64 float32 nor numbers") from None
    if vector.ndim != 1 or len(vector) == 0 or vector.dtype.kind not in "fi":
        raise EmbeddingError(f"{url}: returned an embedding that is not a list of numbers")
    with np.errstate(over="ignore"):  # infinite values are named by check_vectors
        return vector.astype(np.float32)


def server_words(body: bytes, secret: str | None) -> str:
    """The server's own error message on one short line, without the key even where the server repeats it."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and value.get(name):
            value = value[name]
    if value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
    if secret:
        text = text.replace(secret, "***")
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


def says_too_long(status: int, words: str) -> bool:
    """Whether fewer or shorter texts would help."""
    if status == 413:
        return True
    if "dimension" in words.lower():  # of the vectors, not of the text
        return False
    if status in (400, 422):
        return bool(_TOO_LONG.search(words) or _OVER_A_LIMIT.search(words))
    return status == 500 and bool(_TOO_LONG.search(words))  # llama.cpp says 500


def names_no_model(status: int, words: str, body: str) -> bool:
    """Whether the server does not have the model, or not for this key."""
    if status in (400, 422):
        return bool(_NO_MODEL.search(words)) and not says_too_long(status, words)
    return status == 404 or (status == 403 and "model_not_found" in body)


def retry_after(value: str | None) -> float:
    """Seconds of a Retry-After header, which is a number or a date; 0 when it says nothing."""
    if value is None:
        return 0.0
    if re.fullmatch(r"\d+(\.\d+)?", value.strip()):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
