"""What a server says: JSON, its own words in an error, how long to wait; neither sends nor retries."""

import email.utils
import json
import re
import time
from typing import Any

_TOO_LONG = re.compile(r"too (long|large)|context (length|size|window)|larger than", re.I)
_OVER_A_LIMIT = re.compile(r"too many|longer than|exceed|maximum|batch size", re.I)
_NO_MODEL = re.compile(
    r"model\b.*\b(not found|not exist|unknown|invalid|not available|not supported)"
    r"|(unknown|invalid|no such|unsupported)\b.*\bmodel|model_not_found",
    re.I,
)


class CutReply(Exception):
    """The body ends before the JSON does."""


def read_json(body: bytes) -> Any:
    """The reply's value; NaN is let through so that it can be named later."""
    try:
        return json.loads(body)
    except ValueError:
        if body.lstrip()[:1] in (b"", b"{", b"["):
            raise CutReply from None
    raise ValueError("answered something that is not JSON")


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
