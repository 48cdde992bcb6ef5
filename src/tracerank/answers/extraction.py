r"""The short answer and the stated confidence in an agent's final text.

The ladder, first rung that holds: the final channel narrows the text; then an ``Exact Answer:`` line, the last
``<answer>…</answer>``, the last balanced ``\boxed{…}``, a ``Final Answer:`` or ``Answer:`` line, the answer field of a
JSON object that is all there is, the whole text.
Reads only what it is given: callers pass the agent's own words, never a page. Linear in the length of the text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tracerank.answers.text_keys import readable

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


EXACT_ANSWER, ANSWER_TAG, BOXED, ANSWER_LINE = "exact answer", "answer tag", "boxed", "answer line"
ANSWER_FIELD = "answer field"
FINAL_CHANNEL, WHOLE_TEXT, NOTHING = "final channel", "whole text", "nothing"


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a final text says."""

    answer: str | None
    """Readable, stripped; None: the text holds nothing but thinking or white space."""
    confidence: float | None
    """The agent's own estimate between 0 and 1; None: not stated."""
    how: str
    """The rung of the ladder that held, one of the constants above."""


# What may stand before a label, and between it and its value. Texts are readable: no tabs, single spaces.
_DECORATION = r"[ >*_#•-]{0,12}"
_COLON = r"[ *_]{0,6}[:：]"
_EXACT_LINE = re.compile(rf"\bexact\s{{1,3}}answer{_COLON}", re.I)
_EXACT_HEADING = re.compile(r"^[ ]{0,3}#{1,6}[ *_]{1,6}exact answer[ *_]{0,6}$", re.I | re.M)
_FINAL_LINE = re.compile(
    rf"^{_DECORATION}(?:(?:so|thus|therefore|hence)[, ]{{1,2}})?(?:(?:the|my)[ ])?(?:final|short)[ ]answer"
    rf"(?:[ ]is)?{_COLON}",
    re.I | re.M,
)
_FINAL_HEADING = re.compile(r"^[ ]{0,3}(?:#{1,6}|\*\*)[ *_]{0,6}final answer[ *_]{0,6}$", re.I | re.M)
_PLAIN_LINE = re.compile(
    rf"^{_DECORATION}(?:(?:so|thus|therefore|hence)[, ]{{1,2}})?(?:(?:the|my)[ ])?answer(?:[ ]is)?{_COLON}",
    re.I | re.M,
)
_TAG = re.compile(r"<(/?)answer[ ]?>", re.I)
_EMPTY_LABELS = re.compile(
    rf"</?answer[ ]?>|^{_DECORATION}(?:(?:exact|final)[ ])?answer{_COLON}[ *_]{{0,6}}$", re.I | re.M
)
_LEADING_LABEL = re.compile(
    rf"\A[\s*_#]{{0,12}}(?:(?:exact|final|short)[ ])?answer{_COLON}[ *_]{{0,6}}(?=\S|\n\s{{0,6}}\S)", re.I
)
_CUT_CLOSE = re.compile(r"</?a?n?s?w?e?r?\s*\Z", re.I)
_THINK = re.compile(r"<(/?)think(?:ing)?>", re.I)
_CHANNEL = re.compile(r"<\|channel\|>[ ]?final[^<\n]{0,100}(?:<\|constrain\|>[^<\n]{0,100})?<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:return|end|start|im_end|endoftext|call)\|>")
_CONFIDENCE = re.compile(
    r"\bconfidence(?:[ ](?:level|score))?[ *_]{0,6}[:：=][ *_~≈]{0,6}(?:about[ ])?"
    r"([0-9]{1,3}(?:\.[0-9]{1,12})?|\.[0-9]{1,12})[ ]?([%％]|percent\b|/[ ]?100?\b)?(?![0-9,])",
    re.I,
)
_CONFIDENCE_LABEL = re.compile(r"[\s*_;,(|-]{0,6}\bconfidence(?:[ ](?:level|score))?[ *_]{0,6}[:：=]", re.I)
_CITATION = re.compile(r"[ ]?【[^【】\n]{0,80}】")
_EMPHASIS = re.compile(r"\A(\*\*\*|\*\*|\*|__|_|`)(?=\S)([^*_`]+)(?<=\S)\1(\.?)\Z")
_CLOSED_BOLD = re.compile(r"\A[*_]{1,3}[ ]|[ ][*_]{1,3}\Z")
_OBJECT = re.compile(r"(?:```(?:json)?\s*)?(\{.*\})\s*(?:```)?", re.S | re.I)
_ANSWER_FIELDS = ("answer", "final_answer", "exact_answer", "short_answer")
_SPECIAL_TOKEN = re.compile(r"<\|[a-z_]{1,30}\|>")


def extract_answer(text: str) -> Extracted:
    """The answer a final text gives, the confidence it states, and where the answer stood."""
    channel = _final_channel(text)
    said = text if channel is None else channel
    visible, unfinished = _without_thinking(said)
    visible = readable(_SPECIAL_TOKEN.sub("", visible))
    if not visible:
        # Policies forget to close their thinking, and then still write the tag they are trained to write.
        found = _last_tagged(unfinished, is_cut_allowed=False)
        return Extracted(found, None, NOTHING if found is None else ANSWER_TAG)
    confidence = stated_confidence(visible)
    for how, answer in _rungs(visible):
        if answer:
            return Extracted(answer, confidence, how)
    if fields := _fields(visible):
        return Extracted(*fields, ANSWER_FIELD)
    if not _EMPTY_LABELS.sub("", visible).strip():
        return Extracted(None, confidence, NOTHING)
    return Extracted(visible, confidence, WHOLE_TEXT if channel is None else FINAL_CHANNEL)


def stated_confidence(text: str) -> float | None:
    """The last ``Confidence: 97%``, ``0.97``, ``97`` or ``9/10`` of a text, between 0 and 1."""
    last = None
    for last in _CONFIDENCE.finditer(readable(text)):  # noqa: B007
        pass
    if last is None:
        return None
    value, unit = float(last[1]), (last[2] or "").replace(" ", "")
    if unit == "/10":
        value /= 10
    elif unit or value > 1:
        value /= 100
    return value if value <= 1 else None


def _rungs(text: str) -> Iterator[tuple[str, str | None]]:
    yield EXACT_ANSWER, _last_labelled(text, _EXACT_LINE, _EXACT_HEADING)
    yield ANSWER_TAG, _last_tagged(text)
    boxed = last_boxed(text)
    yield BOXED, None if boxed is None else readable(plain_latex(boxed))
    yield ANSWER_LINE, _last_labelled(text, _FINAL_LINE, _FINAL_HEADING)
    yield ANSWER_LINE, _last_labelled(text, _PLAIN_LINE)


def _fields(text: str) -> tuple[str, float | None] | None:
    """Answer and confidence of a structured reply; None: the text is no object, or its answer is no text or number."""
    found = _OBJECT.fullmatch(text)
    try:
        value = json.loads(found[1]) if found else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    answer = next((value[name] for name in _ANSWER_FIELDS if value.get(name) is not None), None)
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or not str(answer).strip():
        return None
    sure = value.get("confidence")
    stated = None if sure is None or isinstance(sure, dict | list) else stated_confidence(f"confidence: {sure}")
    return _cleaned(str(answer)), stated


def _final_channel(text: str) -> str | None:
    """What harmony marks as final; also where the special tokens were stripped from the text."""
    last = None
    for last in _CHANNEL.finditer(text):  # noqa: B007
        pass
    if last is not None:
        end = _CHANNEL_END.search(text, last.end())
        return text[last.end() : end.start() if end else len(text)]
    if text.startswith("analysis") and (at := text.rfind("assistantfinal")) >= 0:
        return text[at + len("assistantfinal") :]
    return None


def _without_thinking(text: str) -> tuple[str, str]:
    """The text outside ``<think>``, and what an unfinished one holds at the end."""
    kept: list[str] = []
    at, depth = 0, 0
    for tag in _THINK.finditer(text):
        if tag[1] and depth == 0:
            kept.clear()  # the prompt had opened it: all before was thinking
        elif depth == 0:
            kept.append(text[at : tag.start()])
        depth = 0 if tag[1] else 1
        at = tag.end()
    if depth:
        return "".join(kept), text[at:]
    return "".join([*kept, text[at:]]), ""


def _last_tagged(text: str, *, is_cut_allowed: bool = True) -> str | None:
    """The last tagged answer that is not blank; an unfinished one at the very end only when there is no other."""
    start: int | None = None
    last: str | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            start = tag.end()
        elif start is not None:
            # A slice per pair, and pairs do not overlap: linear.
            last = text[start : tag.start()].strip() or last
            start = None
    if last is None and start is not None and is_cut_allowed:
        last = _CUT_CLOSE.sub("", text[start:]).strip()
    if not last:
        return None
    boxed = last_boxed(last)
    return _cleaned(_LEADING_LABEL.sub("", last) if boxed is None else plain_latex(boxed)) or None


def _last_labelled(text: str, *labels: re.Pattern[str]) -> str | None:
    """What follows the last of the labels, on its line or in the paragraph below, if it is not blank."""
    end = len(text)
    for found in sorted((span for label in labels for span in map(_span, label.finditer(text))), reverse=True):
        # Each reads on to the next label at most, so that many empty labels stay linear.
        if value := _cleaned(_line_or_paragraph(text[found[1] : end])):
            return value
        end = found[0]
    return None


def _span(found: re.Match[str]) -> tuple[int, int]:
    return found.span()


def _line_or_paragraph(text: str) -> str:
    line, _, rest = text.partition("\n")
    value = line if line.strip(" *_") else rest.lstrip("\n ").partition("\n\n")[0]
    end = _CONFIDENCE_LABEL.search(value)
    return value[: end.start()] if end else value


def _cleaned(value: str) -> str:
    """A short answer without emphasis, citation marks and box around it."""
    value = _CITATION.sub("", readable(value))
    boxed = last_boxed(value)
    if boxed is not None or "\\" in value or value.startswith("$"):
        value = plain_latex(value if boxed is None else boxed)
    value = _CLOSED_BOLD.sub("", value)
    if value.count("**") % 2:  # the other half belongs to the label
        value = value.removeprefix("**").removesuffix("**").strip()
    if emphasised := _EMPHASIS.match(value):
        value = emphasised[2] + emphasised[3]
    return value.strip()
