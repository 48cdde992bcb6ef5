"""The answer in an aggregator's reply, by the paper's rules (App. A.2, "WebQA answer extraction").

Looks at the model's own words only, never at a reference. What the rules do not accept stays unanswered.
"""

import re

_TAG = {name: re.compile(rf"<(/?){name}\s{{0,3}}>", re.I) for name in ("answer", "report")}
_DECLARED = re.compile(r"(?:the correct answer is|the answer is|final answer|answer):(.*)", re.I)
_EXACT = re.compile(r"\bexact answer\**:\**(.*)", re.I | re.S)


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
    return first_line(marked) or None


def report_in(text: str) -> str:
    """The report of a rollout, with or without the tag that it was asked to stand in."""
    return _tagged("report", spoken(text)) or spoken(text).strip()


def spoken(text: str) -> str:
    """What follows the thinking, where a server leaves that in the reply."""
    return text.rpartition("</think>")[2]


def first_line(text: str) -> str:
    """The first line that is not blank; empty when there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


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
