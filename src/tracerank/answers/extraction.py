r"""The short answer and the stated confidence in an agent's final text.

The ladder, first rung that holds: the final channel narrows the text; then an ``Exact Answer:`` line, the last
``<answer>…</answer>``, the last balanced ``\boxed{…}``, a ``Final Answer:`` or ``Answer:`` line, the answer field of a
JSON object that is all there is, the whole text.
What is found is returned byte for byte as it was written, a contiguous part of the text; marks and labels are looked
for in its readable form. Reads only what it is given: callers pass the agent's own words, never a page. Linear in the
length of the text.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from tracerank.answers.latex import Place, last_box, unwrapped
from tracerank.answers.text_keys import Readable, readable, trimmed

EXACT_ANSWER, ANSWER_TAG, BOXED, ANSWER_LINE = "exact answer", "answer tag", "boxed", "answer line"
ANSWER_FIELD = "answer field"
FINAL_CHANNEL, WHOLE_TEXT, NOTHING = "final channel", "whole text", "nothing"


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a final text says."""

    answer: str | None
    """A contiguous part of the text, trimmed; None: the text holds nothing but thinking or white space."""
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
# What may surround a short answer, and is none of it.
_EMPHASIS = re.compile(r"\A(\*\*\*|\*\*|\*|__|_|`)(?=\S)([^*_`]+)(?<=\S)\1\.?\Z")
_BEFORE = re.compile(r"\A(?:【[^【】\n]{0,80}】|<\|[a-z_]{1,30}\|>|[*_]{1,3}[ ](?!.*\n))\s*", re.S)
_BEHIND = re.compile(r"\s?(?:【[^【】\n]{0,80}】|<\|[a-z_]{1,30}\|>|[ ][*_]{1,3})\Z")
_MAX_BEHIND = 90
_MAX_LAYERS = 8
_OBJECT = re.compile(r"(?:```(?:json)?\s*)?(\{.*\})\s*(?:```)?", re.S | re.I)
_ANSWER_FIELDS = ("answer", "final_answer", "exact_answer", "short_answer")
_FENCE = re.compile(r"(`{3,}+|~{3,}+)[^\n]*+\n")
_TOKENS_BEFORE = re.compile(r"\A(?:\s*<\|[a-z_]{1,30}\|>)+")
_TOKEN_BEHIND = re.compile(r"(?<!\s)\s*+<\|[a-z_]{1,30}\|>\Z")


def extract_answer(text: str) -> Extracted:
    """The answer a final text gives, the confidence it states, and where the answer stood."""
    channel = _final_channel(text)
    kept, unfinished = _without_thinking(text if channel is None else channel)
    said = [one for one in map(Readable.of, map(_without_tokens, kept)) if one.shown]
    if not said:
        # Policies forget to close their thinking, and then still write the tag they are trained to write.
        found = _last_tagged(Readable.of(unfinished), is_cut_allowed=False)
        return Extracted(found, None, NOTHING if found is None else ANSWER_TAG)
    said.reverse()
    confidence = next((sure for one in said if (sure := _confidence_in(one.shown)) is not None), None)
    for how, rung in _RUNGS:
        if answer := next(filter(None, map(rung, said)), None):
            return Extracted(answer, confidence, how)
    if fields := _fields(said[0]):
        return Extracted(*fields, ANSWER_FIELD)
    for one in said:
        if _EMPTY_LABELS.sub("", one.shown).strip():
            return Extracted(trimmed(one.written), confidence, WHOLE_TEXT if channel is None else FINAL_CHANNEL)
    return Extracted(None, confidence, NOTHING)


def stated_confidence(text: str) -> float | None:
    """The last ``Confidence: 97%``, ``0.97``, ``97`` or ``9/10`` of a text, between 0 and 1."""
    return _confidence_in(readable(text))


def _confidence_in(shown: str) -> float | None:
    last = None
    for last in _CONFIDENCE.finditer(shown):  # noqa: B007
        pass
    if last is None:
        return None
    value, unit = float(last[1]), (last[2] or "").replace(" ", "")
    if unit == "/10":
        value /= 10
    elif unit or value > 1:
        value /= 100
    return value if value <= 1 else None


def _fields(said: Readable) -> tuple[str, float | None] | None:
    """Answer and confidence of a structured reply; None: the text is no object, or its answer is no text or number."""
    found = _OBJECT.fullmatch(said.written.strip())
    try:
        value = json.loads(found[1], strict=False) if found else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    answer = next((value[name] for name in _ANSWER_FIELDS if value.get(name) is not None), None)
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or not str(answer).strip():
        return None
    sure = value.get("confidence")
    stated = None if sure is None or isinstance(sure, dict | list) else stated_confidence(f"confidence: {sure}")
    bare = _bare(Readable.of(str(answer)))
    return None if bare is None else (bare, stated)


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


def _without_thinking(text: str) -> tuple[list[str], str]:
    """The parts of the text outside ``<think>``, and what an unfinished one holds at the end."""
    kept: list[str] = []
    at, depth = 0, 0
    for tag in _THINK.finditer(text):
        if tag[1] and depth == 0:
            kept.clear()  # the prompt had opened it: all before was thinking
        elif depth == 0:
            kept.append(text[at : tag.start()])
        depth = 0 if tag[1] else 1
        at = tag.end()
    return (kept, text[at:]) if depth else ([*kept, text[at:]], "")


def _without_tokens(text: str) -> str:
    """The text without the tokens of a chat template around it; inside it may be about them."""
    if "<|" not in text:
        return text
    before = _TOKENS_BEFORE.match(text)
    text = text if before is None else text[before.end() :]
    end = len(text.rstrip())
    while behind := _TOKEN_BEHIND.search(text, max(end - _MAX_BEHIND, 0), end):
        end = behind.start()
    return text[:end]


def _last_tagged(said: Readable, *, is_cut_allowed: bool = True) -> str | None:
    """The last tagged answer that is not blank; an unfinished one at the very end only when there is no other."""
    text = said.shown
    start: int | None = None
    last: Place | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            start = tag.end()
        elif start is not None:
            # A slice per pair, and pairs do not overlap: linear.
            last = (start, tag.start()) if text[start : tag.start()].strip() else last
            start = None
    if last is None and start is not None and is_cut_allowed:
        cut = _CUT_CLOSE.search(text, start)
        last = start, len(text) if cut is None else cut.start()
    if last is None:
        return None
    if (boxed := last_box(text, *last)) is None:
        label = _LEADING_LABEL.match(text[slice(*last)])
        last = last[0] + (label.end() if label else 0), last[1]
    return _bare(said, *(boxed or last))


def _boxed(said: Readable) -> str | None:
    index = last_box(said.shown)
    return None if index is None else _bare(said, *index)


def _last_labelled(said: Readable, *labels: re.Pattern[str]) -> str | None:
    """What follows the last of the labels, on its line or in the paragraph below, if it is not blank."""
    text = said.shown
    end = len(text)
    for found in sorted((span for label in labels for span in map(_span, label.finditer(text))), reverse=True):
        # Each reads on to the next label at most, so that many empty labels stay linear.
        if value := _bare(said, *_line_or_paragraph(text, found[1], end)):
            return value
        end = found[0]
    return None


def _span(found: re.Match[str]) -> Place:
    return found.span()


_RUNGS: tuple[tuple[str, Callable[[Readable], str | None]], ...] = (
    (EXACT_ANSWER, lambda said: _last_labelled(said, _EXACT_LINE, _EXACT_HEADING)),
    (ANSWER_TAG, _last_tagged),
    (BOXED, _boxed),
    (ANSWER_LINE, lambda said: _last_labelled(said, _FINAL_LINE, _FINAL_HEADING)),
    (ANSWER_LINE, lambda said: _last_labelled(said, _PLAIN_LINE)),
)


def _line_or_paragraph(text: str, start: int, end: int) -> Place:
    line, _, rest = text[start:end].partition("\n")
    if line.strip(" *_"):
        value = line
    else:
        below = rest.lstrip("\n ")
        start = end - len(below)
        fence = _FENCE.match(below)
        close = -1 if fence is None else below.find(f"\n{fence[1]}", fence.end() - 1)
        value = below[: close + 1 + len(fence[1])] if fence and close >= 0 else below.partition("\n\n")[0]
    sure = _CONFIDENCE_LABEL.search(value)
    return start, start + (sure.start() if sure else len(value))


def _bare(said: Readable, start: int = 0, end: int | None = None) -> str | None:
    """A short answer without emphasis, citation marks and box around it, as it was written; None: nothing is left."""
    text = said.shown[start:end]
    for _ in range(_MAX_LAYERS):
        inner = _layer(text)
        if inner == (0, len(text)):
            break
        start, text = start + inner[0], text[slice(*inner)]
    return said.part(start, start + len(text)) if text else None


def _layer(text: str) -> Place:
    """Where in a text its inside stands; the whole text when nothing surrounds it."""
    bare = text.strip()
    if bare != text:
        return (begin := len(text) - len(text.lstrip())), begin + len(bare)
    if before := _BEFORE.match(text):
        return before.end(), len(text)
    if behind := _BEHIND.search(text, max(len(text) - _MAX_BEHIND, 0)):
        return 0, behind.start()
    if ("\\" in text and (inner := last_box(text))) or (text[:1] in ("\\", "$") and (inner := unwrapped(text))):
        return inner
    if text.count("**") % 2 and text.strip("*") != text:  # the other half belongs to the label
        return 2 * text.startswith("**"), len(text) - 2 * text.endswith("**")
    emphasised = _EMPHASIS.match(text)
    return emphasised.span(2) if emphasised else (0, len(text))
