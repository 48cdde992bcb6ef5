"""Answers as talkative agents give them: in a sentence, with a note, with the words that stand around them in a text.

Real agents of one kind answer alike; pools that mix kinds hold "Paris", "Paris, France" and "The capital is Paris."
The sets that we may fit on hardly do, so their answers are rewritten here, by templates and from the own evidence.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import tracerank as tr
from tracerank.answers.abstentions import abstains
from tracerank.answers.exact import exact_match, normalize_answer
from tracerank.pools.types import Rollout

PLAIN = (
    *("The answer is {}.", "{}.", "Based on the search results, the answer is {}.", "Final answer: {}", "**{}**"),
    *("The answer to the question is {}.", "It is {}.", "According to the sources, it is {}.", "{} is the answer."),
    "Answer: {}",
)
POLAR = ("{}.", "{}, they are.", "{}, that is correct.", "The answer is {}.", "{}, based on the search results.")
DECLARED, EXPANDED = 0.35, 0.65
"""Up to the first share, the question is turned into a statement; up to the second, a text is quoted."""

_ASKS = re.compile(r"(who|what|which \w+|what \w+)\s+(was|is|were|are|has|had|won|wrote|\w+ed)\b(.*)", re.I)
_BE = frozenset(("was", "is", "were", "are"))
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NAME_BEFORE = re.compile(r"((?:[A-Z][\w.'-]*\s){1,2})$")
_MORE_AFTER = re.compile(r"((?:,? [A-Z0-9][\w.'-]*){1,3}|\s?\([^)]{2,40}\))")
_LONGEST_QUOTE = 300


def wordy(pool: tr.Pool, share: float, seed: int = 0) -> tr.Pool:
    """The pool with a share of its answers in longer forms; a rollout's label says whether its answer *was* right.

    A longer form mostly does not match a reference exactly any more, but it means what it meant.
    """
    rng = Random(f"{seed} {pool.question.text}")
    rollouts = []
    for rollout in pool.rollouts:
        answer = (rollout.answer or "").strip()
        if rollout.label is None:
            rollout = replace(rollout, label=float(exact_match(answer, pool.question.references)))
        if answer and not abstains(answer, pool.question.text) and rng.random() < share:
            rollout = replace(rollout, answer=_longer(pool.question.text, answer, rollout, rng))
        rollouts.append(rollout)
    return tr.Pool.of(pool.question, rollouts)


def _longer(question: str, answer: str, rollout: Rollout, rng: Random) -> str:
    if normalize_answer(answer) in ("yes", "no"):
        return rng.choice(POLAR).format(answer)
    kind = rng.random()
    if kind < DECLARED:
        return _declared(question, answer, rng)
    found = _expanded(answer, [e.text for s in rollout.searches for e in s.evidence], rng) if kind < EXPANDED else None
    return found or rng.choice(PLAIN).format(answer)


def _declared(question: str, answer: str, rng: Random) -> str:
    """The question as a statement: "Who wrote Emma?" and Jane Austen make "Jane Austen wrote Emma."."""
    question = question.strip().rstrip("?").strip()
    found = _ASKS.fullmatch(question)
    if found is None:
        return f'For "{question}", the answer is {answer}.'
    verb, rest = found[2], found[3].strip()
    if verb.lower() in _BE and rest and rng.random() < 0.5:
        return f"{rest[0].upper()}{rest[1:]} {verb} {answer}."
    return f"{answer} {verb} {rest}."


def _expanded(answer: str, texts: Sequence[str], rng: Random) -> str | None:
    """The answer with the names around it in a text that holds it, or the sentence there; None: no text does."""
    for text in rng.sample(texts, len(texts)):
        at = text.lower().find(answer.lower())
        end = at + len(answer)
        if at < 0 or text[at - 1 : at].isalnum() or text[end : end + 1].isalnum():
            continue
        if rng.random() < EXPANDED:
            before, after = _NAME_BEFORE.search(text[max(0, at - 40) : at]), _MORE_AFTER.match(text[end : end + 60])
            parts = (before[1] if before and rng.random() < 0.5 else "", text[at:end], after[1] if after else "")
            made = "".join(parts).strip()
            if normalize_answer(made) != normalize_answer(answer):
                return made
        else:
            start = max((found.end() for found in _SENTENCE_END.finditer(text[:at])), default=0)
            stop = next((end + found.start() for found in _SENTENCE_END.finditer(text[end:])), len(text))
            if stop - start < _LONGEST_QUOTE:
                return text[start:stop].strip()
    return None
