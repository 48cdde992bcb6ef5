"""When two URLs name the same source, judged by their text alone.

Deliberately no network, no redirects, no mirrors and no site-specific aliases: a wrong merge would link rollouts.
"""

import hashlib
import re
from enum import Enum
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit

from tracerank.answers.text_keys import bounded_cache


class UrlRules(Enum):
    """What is equal beside scheme and host case, fragments and needless percent escapes."""

    OFFICIAL = "official"
    """Nothing."""
    DEFAULT = "default"
    """``https://münchen.de:443`` and ``https://xn--mnchen-3ya.de/``: default ports, encoded hosts, root paths."""


DEFAULT, OFFICIAL = UrlRules.DEFAULT, UrlRules.OFFICIAL

MAX_URL = 1 << 16
"""Servers accept far less; without a bound a hostile page could become a document key."""
_WORTH_KEEPING = 1 << 11
_DEFAULT_PORTS = {"http": 80, "https": 443}

# Already canonical up to its fragment: true of most URLs, and far faster to see than to rebuild them.
_PLAIN = re.compile(
    r"(https?://[a-z0-9.-]+(?:/[A-Za-z0-9/:@._~-]*)?(?:\?[A-Za-z0-9=&?/:@._~+-]+)?)(?:#[^\x00-\x1f\x7f]*)?"
)
_REFINED = re.compile(r"https?://[a-z0-9.-]+/")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SPACE = re.compile(r"\s")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
_HIDDEN_USERINFO = re.compile(r"userinfo-sha256-[0-9a-f]{64}")
_HOST_NAME = re.compile(r"[a-z0-9._-]+")
_AUTHORITY = re.compile(r"(https?)://([^/?]*)")

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_KEEPS = "/:@-._~%"
_QUERY_KEEPS = "=&?/:@-._~%+"


def canonical_url(value: object, rules: UrlRules = DEFAULT) -> str | None:
    """The one spelling of a web address under the rules; None for what is not a well-formed http(s) URL."""
    if not isinstance(value, str) or len(value) > MAX_URL:
        return None
    plain = _PLAIN.fullmatch(value)
    url = plain[1] if plain else _rebuilt(value) if len(value) <= _WORTH_KEEPING else _rebuild(value)
    return None if url is None else refine_url(url, rules)


def refine_url(url: str, rules: UrlRules) -> str:
    """A URL that is canonical under OFFICIAL, made canonical under the rules."""
    found = _AUTHORITY.match(url)
    if rules is OFFICIAL or found is None or _REFINED.match(url):
        return url
    scheme, authority = found.groups()
    userinfo, at, host = authority.rpartition("@")
    # An IPv6 address holds colons of its own, inside brackets.
    colon = host.find(":", host.rfind("]") + 1)
    name, port = (host[:colon], host[colon:]) if colon >= 0 else (host, "")
    if port == ":" or port[1:].lstrip("0") == str(_DEFAULT_PORTS[scheme]):
        port = ""
    if not name.isascii():
        name = _punycode(name)
    rest = url[found.end() :]
    if not rest.startswith("/"):
        rest = "/" + rest
    return f"{scheme}://{userinfo}{at}{name}{port}{rest}"


def _rebuild(value: str) -> str | None:
    if _CONTROL.search(value):
        return None
    try:
        parts = urlsplit(value)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or _SPACE.search(parts.netloc):
            return None
        if _BROKEN_ESCAPE.search(parts.path) or _BROKEN_ESCAPE.search(parts.query):
            return None
        _ = parts.port  # raises for a port that cannot exist
        path = _escaped(parts.path, _PATH_KEEPS)
        query = _escaped(parts.query, _QUERY_KEEPS)
        return f"{parts.scheme}://{_authority(parts)}{path}{'?' if query else ''}{query}"
    except ValueError:  # also lone surrogates, which cannot be encoded
        return None


# The rollouts of a pool open the same pages again and again.
_rebuilt = bounded_cache(4096, 600)(_rebuild)


def _escaped(text: str, keeps: str) -> str:
    return _ESCAPE.sub(_settle_escape, quote(text, safe=keeps))


def _settle_escape(match: re.Match[str]) -> str:
    # %2F stays distinct from /: only characters without a meaning of their own are decoded.
    escape = match[0]
    char = chr(int(escape[1:], 16))
    return char if char in _UNRESERVED else escape.upper()


def _authority(parts: SplitResult) -> str:
    """Host and port in lower case; a user name and password only as a digest, for they are secrets."""
    userinfo, at, host = parts.netloc.rpartition("@")
    host = host.lower()
    host.encode()  # raises for lone surrogates
    if not at:
        return host
    urlsplit(f"//{host}")  # raises for a bracket that the user info had balanced
    if _HIDDEN_USERINFO.fullmatch(userinfo):
        return f"{userinfo}@{host}"
    name, colon, password = userinfo.partition(":")
    user = unquote_to_bytes(name)
    secret = b"\1" + unquote_to_bytes(password) if colon else b"\0"
    digest = hashlib.sha256(b"document-userinfo-v1\0" + len(user).to_bytes(8, "big") + user + secret)
    return f"userinfo-sha256-{digest.hexdigest()}@{host}"


def _punycode(name: str) -> str:
    try:
        encoded = name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return name
    # Compatibility characters can turn into delimiters; such a name is kept as it was displayed.
    return encoded if _HOST_NAME.fullmatch(encoded) else name
