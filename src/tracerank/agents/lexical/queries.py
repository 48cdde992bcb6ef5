"""What a rollout asks: the question with words left out, one of its names, or a name that it read about."""

import numpy as np

from tracerank.agents.lexical.analysis import AnalysedPassage
from tracerank.agents.lexical.notebook import Notebook, Sighting, Walk
from tracerank.agents.lexical.presets import Preset
from tracerank.agents.lexical.questions import ParsedQuestion, QuestionKind
from tracerank.agents.lexical.words import is_content, stem_hash, word_set

MAX_RESIDUAL = 4
"""Most words of the question that are added to a name."""

_KEEPS_NAME_WORD = 0.6
"""Chance that a capitalised word survives when its turn to be left out has come."""
_RANK_DISCOUNT = 0.3
_LATEST_BONUS = 0.5
"""Logits for a name to follow, by where it was read."""
INDIRECT = word_set("director directors composer performer author singer creator founder owner parent mother father")
"""A comparison with one of these words is about a person whom the pages of the things compared name."""


def walk_of(notebook: Notebook, preset: Preset, rng: np.random.Generator) -> Walk:
    """One to four searches."""
    walk = Walk()
    question = notebook.view.parsed
    waiting = _names_to_ask(question, rng)
    for hop in range(_searches(question, preset, rng)):
        bridge: str | None = None
        if waiting:
            query = _about(waiting.pop(0), question, None, preset, rng)
        elif hop == 0 or not walk.seen:
            query = _first_query(question, preset, rng)
        elif rng.random() < preset.asks_again:
            query = reworded(question, preset, rng)
        else:
            query, bridge = _followed(notebook, walk, hop, preset, rng)
        asked = notebook.ask(query)
        walk.searches.append(asked.search)
        for rank, number in enumerate(asked.notes):
            is_bridged = bridge is not None and notebook.notes[number].reading.passage.title_name == bridge
            _sight(walk, number, hop, rank, is_bridged)
    return walk


def _sight(walk: Walk, number: int, hop: int, rank: int, is_bridged: bool) -> None:
    from_before = walk.seen.get(number)
    if from_before is None:
        walk.seen[number] = Sighting(hop, rank, is_bridged=is_bridged)
        return
    from_before.times += 1
    from_before.is_bridged |= is_bridged
    from_before.rank = min(from_before.rank, rank)


def _searches(question: ParsedQuestion, preset: Preset, rng: np.random.Generator) -> int:
    count = 1 + int(rng.choice(len(preset.searches), p=preset.searches))
    if question.kind is QuestionKind.OPEN:
        return count
    # Two things are compared; if by way of a third, each needs a search of its own.
    least = 4 if question.lower & INDIRECT else 2
    return max(count, least) if rng.random() > preset.drops_word else count


def _names_to_ask(question: ParsedQuestion, rng: np.random.Generator) -> list[str]:
    if question.kind is QuestionKind.OPEN:
        return []
    names = list(question.options or question.names[-2:])
    return names if rng.random() < 0.5 else names[::-1]


def _first_query(question: ParsedQuestion, preset: Preset, rng: np.random.Generator) -> str:
    if question.names and rng.random() < preset.starts_with_name:
        name = question.names[int(rng.integers(len(question.names)))]
        return _about(name, question, None, preset, rng)
    return reworded(question, preset, rng)


def reworded(question: ParsedQuestion, preset: Preset, rng: np.random.Generator) -> str:
    """The question with words left out; never without a content word."""
    draws = rng.random((len(question.words), 2))
    kept = [
        word
        for word, (leave, spare) in zip(question.words, draws.tolist(), strict=True)
        if leave >= preset.drops_word or (word[0].isupper() and spare < _KEEPS_NAME_WORD)
    ]
    return " ".join(kept if any(map(is_content, kept)) else question.words) or question.text


def _about(
    name: str, question: ParsedQuestion, source: AnalysedPassage | None, preset: Preset, rng: np.random.Generator
) -> str:
    """A name and some of what is asked about it; what its source already told is not asked again."""
    if question.kind is not QuestionKind.OPEN:
        return name
    words = [word for word in question.relation if source is None or stem_hash(word) not in source.words]
    draws = rng.random(len(words)).tolist()
    # Left out more freely than in a whole question: a name alone finds its page, the words only choose the part of it.
    kept = [word for word, draw in zip(words, draws, strict=True) if draw >= max(0.2, 2 * preset.drops_word)]
    return " ".join([name, *kept[-MAX_RESIDUAL:]])


def _followed(
    notebook: Notebook, walk: Walk, hop: int, preset: Preset, rng: np.random.Generator
) -> tuple[str, str | None]:
    """A query about a name that was read, and the name; the question again if there is none."""
    question = notebook.view.parsed
    logits, places = [], []
    for number in _sources(notebook, walk):
        reading, sighting = notebook.notes[number].reading, walk.seen[number]
        bonus = (_LATEST_BONUS if sighting.hop == hop - 1 else 0.0) - _RANK_DISCOUNT * sighting.rank
        for span, logit in zip(reading.follow.tolist(), reading.bridge.tolist(), strict=True):
            if reading.passage.names[span] not in walk.followed:
                logits.append(logit + bonus)
                places.append((number, span))
    if not places:
        return reworded(question, preset, rng), None
    drawn = np.array(logits) / preset.bridge_temperature + rng.gumbel(size=len(logits))
    number, span = places[int(drawn.argmax())]
    passage = notebook.notes[number].reading.passage
    walk.seen[number].is_source = True
    walk.followed.append(passage.names[span])
    return _about(passage.surfaces[span], question, passage, preset, rng), passage.names[span]


def _sources(notebook: Notebook, walk: Walk) -> list[int]:
    """Notes to follow names from; of a comparison, the pages about what is compared, each once."""
    if notebook.view.parsed.kind is not QuestionKind.OPEN:
        own = [
            number
            for number, sighting in walk.seen.items()
            if notebook.notes[number].reading.is_asked_about and not sighting.is_source
        ]
        if own:
            return own
    return list(walk.seen)
