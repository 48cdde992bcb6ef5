r"""LaTeX around and inside an answer: the last ``\boxed{…}``, what a wrapper holds, and the plain text for comparing.

``last_box`` and ``unwrapped`` give positions in the text, so that what is returned stays as it was written;
``plain_latex`` rewrites and is for comparing only. Linear in the length of the text.
"""

import re

from tracerank.answers.lazy_patterns import lazy_pattern

Place = tuple[int, int]
"""Where a part of a text begins and ends."""

_BOX = lazy_pattern(r"\\boxed\s{0,4}\{|\\[{}\\]|[{}]")
_WRAPPER = lazy_pattern(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf|tt|bb)|operatorname|mbox|emph|bm|boldsymbol)\s{0,4}\{"
    r"|\\[{}\\]|[{}]"
)
_ESCAPED = lazy_pattern(r"\\([%$&#_{}])")
_THIN_SPACE = lazy_pattern(r"\\[,;:! ]|\\q?quad\b|(?<!\\)~")
_MATH = lazy_pattern(r"\A(\$\$?)([^$]+)\1\Z|\A\\\((.+)\\\)\Z|\A\\\[(.+)\\\]\Z", re.S)
_NOT_SPACE = lazy_pattern(r"\S")
_LATEX = lazy_pattern(
    r"\\(?:text|math|boxed|operatorname|mbox|emph|bm|[%$&#_{},;:! (\[]|q?quad)|\{,\}|\A\s*\$[^$]+\$\s*\Z"
)


def last_box(text: str, start: int = 0, end: int | None = None) -> Place | None:
    r"""Where the last ``\boxed{…}`` that is closed and not blank keeps what it holds."""
    open_braces: list[tuple[int, bool]] = []
    best: Place | None = None
    for token in _BOX.finditer(text, start, len(text) if end is None else end):
        if token[0] == "}":
            if not open_braces:
                continue
            begin, is_box = open_braces.pop()
            is_later = best is None or begin > best[0]
            if is_box and is_later and _NOT_SPACE.search(text, begin, token.start()):
                best = begin, token.start()
        elif token[0][-1] == "{" and token[0] != r"\{":
            open_braces.append((token.end(), token[0] != "{"))
    return best


def unwrapped(text: str) -> Place | None:
    r"""Where a text that is all math, or all in a wrapper such as ``\text{…}``, keeps what it holds; else None."""
    if found := _MATH.match(text):
        return next(found.span(group) for group in (2, 3, 4) if found[group])
    token = _WRAPPER.match(text)
    if token is None or token[0] in (r"\{", r"\}", r"\\", "}", "{") or not text.endswith("}"):
        return None
    depth = 0
    for brace in _WRAPPER.finditer(text):
        if brace[0] == "}":
            depth -= 1
            if depth == 0:
                return (token.end(), brace.start()) if brace.end() == len(text) else None
        elif brace[0][-1] == "{" and brace[0] != r"\{":
            depth += 1
    return None


def plain_latex(text: str) -> str:
    r"""For comparing: the text without math delimiters, ``\text{}``-like wrappers, thin spaces and escapes."""
    if not _LATEX.search(text):
        return text
    text = text.strip()
    if found := _MATH.match(text):
        text = next(filter(None, found.groups()[1:]), "")
    text = _THIN_SPACE.sub(" ", _without_wrappers(text)).replace("{,}", ",")
    return _ESCAPED.sub(r"\1", text).strip()


def _without_wrappers(text: str) -> str:
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
