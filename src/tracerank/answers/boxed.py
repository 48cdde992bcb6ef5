r"""Boxed answers: the last balanced ``\boxed{…}`` of a text, and its LaTeX as plain text.

Every function reads the text once, whatever is nested in it. No mathematics is understood.
"""

import re

_BOX = re.compile(r"\\boxed\s{0,4}\{|\\[{}\\]|[{}]")
_WRAPPER = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf|tt|bb)|operatorname|mbox|emph|bm|boldsymbol)\s{0,4}\{"
    r"|\\[{}\\]|[{}]"
)
_ESCAPED = re.compile(r"\\([%$&#_{}])")
_THIN_SPACE = re.compile(r"\\[,;:! ]|\\q?quad\b|(?<!\\)~")
_MATH = re.compile(r"\A(\$\$?)([^$]+)\1\Z|\A\\\((.+)\\\)\Z|\A\\\[(.+)\\\]\Z", re.S)


def last_boxed(text: str) -> str | None:
    r"""What stands in the last ``\boxed{…}`` that is closed and not blank."""
    open_braces: list[tuple[int, bool]] = []
    best: tuple[int, int] | None = None
    for token in _BOX.finditer(text):
        if token[0] == "}":
            if not open_braces:
                continue
            start, is_box = open_braces.pop()
            is_later = best is None or start > best[0]
            if is_box and is_later and not _is_blank(text, start, token.start()):
                best = start, token.start()
        elif token[0][-1] == "{" and token[0] != r"\{":
            open_braces.append((token.end(), token[0] != "{"))
    return None if best is None else text[best[0] : best[1]]


_NOT_SPACE = re.compile(r"\S")


def _is_blank(text: str, start: int, end: int) -> bool:
    return _NOT_SPACE.search(text, start, end) is None


def plain_latex(text: str) -> str:
    r"""The text without math delimiters, ``\text{}``-like wrappers, thin spaces and escapes."""
    text = text.strip()
    if found := _MATH.match(text):
        text = next(filter(None, found.groups()[1:]), "")
    text = _THIN_SPACE.sub(" ", _unwrapped(text)).replace("{,}", ",")
    return _ESCAPED.sub(r"\1", text).strip()


def _unwrapped(text: str) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    drops_close: list[bool] = []
    at = 0
    for token in _WRAPPER.finditer(text):
        is_close = token[0] == "}"
        if is_close and drops_close and drops_close.pop():
            parts.append(text[at : token.start()])
            at = token.end()
        elif not is_close and token[0][-1] == "{" and token[0] != r"\{":
            drops_close.append(token[0] != "{")
            if token[0] != "{":
                parts.append(text[at : token.start()])
                at = token.end()
    return "".join([*parts, text[at:]])
