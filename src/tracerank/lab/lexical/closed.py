"""Questions whose answers are given: yes or no, and one of two options. Both compare two things that were looked up."""

import re

from tracerank.lab.lexical.notebook import Notebook, Walk
from tracerank.lab.lexical.scoring import AnalysedPassage
from tracerank.lab.lexical.spans import content_stems, word_set

INDIRECT = word_set("director directors composer performer author singer creator founder owner parent mother father")
"""A comparison with one of these words is about a person whom the pages of the things compared name."""
_EARLIER = word_set("first earlier earliest older oldest before")
_LATER = word_set("later latest younger youngest last recently recent newer newest")
_TITLE_MATCH = 0.6
_YEAR = re.compile(r"\b\d{4}\b")


def first_logit(notebook: Notebook, walk: Walk) -> float:
    """What speaks for *yes*, or for the first option."""
    question = notebook.question
    sides = [_side(name, notebook, walk) for name in question.options or question.names[-2:]]
    if len(sides) < 2 or not all(sides):
        return 0.0
    if question.kind == "yes/no":
        if question.lower & {"same", "share", "shared"}:
            first, second = (set().union(*map(_adjectives, side)) for side in sides)
            return 2.0 if first & second else -2.0
        return 4 * min(_covered(side, notebook) for side in sides) - 1
    direction = bool(question.lower & _EARLIER) - bool(question.lower & _LATER)
    years = [_year(side, bool(question.lower & INDIRECT)) for side in sides]
    if direction and years[0] and years[1]:
        return 3.0 * direction * (1 if years[0] < years[1] else -1)
    return 4 * (_covered(sides[0], notebook) - _covered(sides[1], notebook))


def _side(name: str, notebook: Notebook, walk: Walk) -> list[AnalysedPassage]:
    """What was read about a name: its own page, then those of names that its page gives, such as a film's director."""
    wanted = content_stems(name)
    read = [notebook.notes[index].passage for index in walk.seen]

    def match(passage: AnalysedPassage) -> float:
        return len(passage.title_stems & wanted) / max(1, len(wanted | passage.title_stems))

    own = max(read, key=match)
    if match(own) < _TITLE_MATCH:
        return []
    linked = [one for one in read if one.title_name in own.names and one.title_name != own.title_name]
    return [own, *linked]


def _adjectives(passage: AnalysedPassage) -> set[str]:
    """Names that say where something is from."""
    return {name for name, kind in zip(passage.names, passage.kinds, strict=True) if kind == "adjective"}


def _year(side: list[AnalysedPassage], is_indirect: bool) -> int | None:
    """The first year that is read about a side, or about what it leads to."""
    names = (
        name
        for passage in (side[1:] if is_indirect else side)
        for name, kind in zip(passage.names, passage.kinds, strict=True)
        if kind in ("date", "year")
    )
    return next((int(found[0]) for found in map(_YEAR.search, names) if found), None)


def _covered(side: list[AnalysedPassage], notebook: Notebook) -> float:
    """Share of the words outside of the names that was read about a side."""
    wanted = notebook.question.relation_stems
    return len(wanted & frozenset().union(*(passage.stems for passage in side))) / max(1, len(wanted))
