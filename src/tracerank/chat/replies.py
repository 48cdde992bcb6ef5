"""What an aggregator's reply says: the paper's rules (App. A.2), then other forms that models write instead.

The paper's rules come first and find what they found in the paper. Where they find nothing, the same reply is read
as small models write it: tags escaped as they saw them in a prompt, an answer in other marks, "Final solution 3:".
``how`` says which reading it was, so that strict and lenient figures can be kept apart. Reads models' own words only.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracerank.answers.exact import normalize_answer
from tracerank.answers.extraction import FINAL_CHANNEL, NOTHING, WHOLE_TEXT, extract_answer
from tracerank.endpoints.chat import spoken

_TAG = {name: re.compile(rf"<(/?){name}\s{{0,3}}>", re.I) for name in ("answer", "report")}
_DECLARED = re.compile(r"(?:the correct answer is|the answer is|final answer|answer):(.*)", re.I)
_EXPLAINED = re.compile(r"\s\**explanation\**:", re.I)
_EXACT = re.compile(r"\bexact answer\**:\**(.*)", re.I | re.S)

BY_RULE, ESCAPED, MARKED, NUMBERED, NAMED = "by rule", "escaped tag", "other mark", "number", "name"
"""How an answer was found: by the paper's rule; by it once escapes are undone; in another mark; by the number of a
solution; as the only candidate that the reply names."""


class Found(NamedTuple):
    """An answer in a reply."""

    answer: str
    how: str
    """One of the constants above."""


PaperRule = Callable[[str], str | None]


def first_tagged(text: str) -> str | None:
    """What stands in the first complete answer tag that is not blank: SolAgg's rule."""
    return _tagged("answer", spoken(text))


def tagged_or_declared(text: str) -> str | None:
    """The tagged answer, else what the first line declares: SummAgg's rule."""
    return first_tagged(text) or _declared(spoken(text))


def accepted_answer(solution: str) -> str | None:
    """The first nonempty line of the answer that a solution marks; None: it marks none and is not accepted."""
    exact = _EXACT.search(solution)
    marked = first_tagged(solution) or (exact[1] if exact else "")
    return _EXPLAINED.split(first_line(marked))[0].strip() or None


def report_in(text: str) -> str:
    """The report of a rollout, with or without the tag that it was asked to stand in."""
    return _tagged("report", spoken(text)) or without_tags(spoken(text)).strip()


def first_line(text: str) -> str:
    """The first line that is not blank; empty when there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def without_tags(text: str) -> str:
    """The text without the tags in which answers and reports are asked for: a model copies them as it sees them."""
    for tag in _TAG.values():
        text = tag.sub("", text)
    return text


def _declared(text: str) -> str | None:
    found = _DECLARED.match(first_line(text).replace("**", "").strip())
    return (found[1].strip().removesuffix(".").strip() or None) if found else None


def _tagged(name: str, text: str) -> str | None:
    """What the first complete pair of tags holds, blank ones aside; a tag that opens again begins anew."""
    start: int | None = None
    for tag in _TAG[name].finditer(text):
        if not tag[1]:
            start = tag.end()
        elif start is not None:
            # A slice per pair, and pairs do not overlap: linear.
            if held := text[start : tag.start()].strip():
                return held
            start = None
    return None


# What replies hold instead.

_ESCAPES = {"\\u003c": "<", "\\u003e": ">", "&lt;": "<", "&gt;": ">", "\\/": "/"}
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPES)), re.I)
_OF_ONE = r"(?:final )?(?:solution|report|trajectory|agent|answer|option|candidate)s? ?(?:number |no\. ?|nr\. ?|#)?"
_IS_NUMBER = re.compile(rf"\W{{0,6}}(?:the )?{_OF_ONE}\(?([0-9]{{1,3}})\W{{0,6}}", re.I)
_LABEL = re.compile(rf"\W{{0,6}}(?:the )?{_OF_ONE}([0-9]{{1,3}})[ *]{{0,3}}:[ *]{{0,3}}(?=\S)", re.I)
_PLACEHOLDER = re.compile(r"(?:(?:(?:it|this|that|here) is )?(?:(?:short|final|exact|correct) )*answer(?: here)?|…)?")
_LEAST_NAME = 3
"""Letters of a candidate that a reply may name in passing: shorter ones are words of any sentence."""


def read_reply(text: str, rule: PaperRule, candidates: Sequence[str]) -> Found | None:
    """The answer that a reply gives; ``candidates``: the answers of what was shown, in the order of their numbers."""
    said = spoken(text)
    unescaped = _ESCAPE.sub(lambda found: _ESCAPES[found[0].lower()], said)
    for how, held in ((BY_RULE, rule(said)), (ESCAPED, rule(unescaped)), (MARKED, _marked(unescaped))):
        if held is not None and (found := _meant(held, how, candidates)) is not None:
            return found
    return _numbered(_LABEL.match(unescaped) or _IS_NUMBER.fullmatch(unescaped), candidates)


def named_in(text: str, candidates: Sequence[str]) -> Found | None:
    """The only candidate whose words stand in the reply; None: several do, or none."""
    words = f" {normalize_answer(spoken(text))} "
    keys = {normalize_answer(candidate): candidate for candidate in reversed(candidates)}
    named = [key for key in keys if len(key) >= _LEAST_NAME and f" {key} " in words]
    # Paris inside Paris, France is not named by itself.
    apart = [key for key in named if not any(key != other and f" {key} " in f" {other} " for other in named)]
    return Found(keys[apart[0]], NAMED) if len(apart) == 1 else None


def is_placeholder(text: str) -> bool:
    """Whether it is the words that our prompts show where an answer belongs, copied."""
    return _PLACEHOLDER.fullmatch(normalize_answer(text)) is not None


def bare_number(text: str, candidates: Sequence[str]) -> Found | None:
    """The solution that a reply numbers by a number alone, where that was asked for."""
    return _numbered(re.fullmatch(r"\W{0,6}([0-9]{1,3})\W{0,6}", spoken(text)), candidates)


def _marked(text: str) -> str | None:
    found = extract_answer(text)
    return None if found.how in (FINAL_CHANNEL, WHOLE_TEXT, NOTHING) else found.answer


def _meant(held: str, how: str, candidates: Sequence[str]) -> Found | None:
    """What a mark holds means: the answer itself, or the one of a solution that it only numbers."""
    if is_placeholder(held):
        return None
    if number := _IS_NUMBER.fullmatch(held):
        return _numbered(number, candidates)
    bare = held[label.end() :] if (label := _LABEL.match(held)) else held
    return Found(_unquoted(bare), how)


def _unquoted(text: str) -> str:
    """Without the quotes that our prompts put around texts of others."""
    inner = text.strip()
    is_quoted = len(inner) > 2 and inner[0] == inner[-1] == '"' and '"' not in inner[1:-1]
    return inner[1:-1].strip() or inner if is_quoted else inner


def _numbered(found: re.Match[str] | None, candidates: Sequence[str]) -> Found | None:
    number = int(found[1]) if found else 0
    return Found(candidates[number - 1], NUMBERED) if 1 <= number <= len(candidates) else None
