"""The lexical agent: K rollouts of a question over any retriever, without a language model.

Rollouts of a question share what was searched and read, which changes nothing: each draws from (seed, question, sample)
alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from tracerank.answers.meaning.rightness import is_right
from tracerank.lab.corpus.base import Retriever
from tracerank.lab.lexical.closed import INDIRECT, first_logit
from tracerank.lab.lexical.notebook import Choice, Notebook, Walk
from tracerank.lab.lexical.questions import ParsedQuestion
from tracerank.lab.lexical.scoring import Floats, weights
from tracerank.lab.lexical.spans import is_content, stem
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import Question, Rollout


@dataclass(frozen=True, slots=True)
class Preset:
    """How careful an agent is; all between 0 and 1 unless said otherwise."""

    name: str
    searches: tuple[float, float, float, float]
    """Shares of rollouts with 1, 2, 3 and 4 searches."""
    no_search: float
    """Share of rollouts that answer at once; WebQA never retains them (App. A.1)."""
    no_answer: float
    """Share of the other rollouts that end without an answer."""
    drops_word: float
    """Probability that a query leaves a word of the question out."""
    asks_again: float
    """Probability that a later query words the question anew instead of following a name that was read."""
    temperature: float
    """Above 0; how freely the answer, and the name to follow, are drawn."""
    noise: float
    """Standard deviation of the trust in a passage, in logits."""


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("base", (0.20, 0.35, 0.28, 0.17), 0.06, 0.120, 0.25, 0.15, 0.8, 0.70),
        Preset("sft", (0.12, 0.45, 0.30, 0.13), 0.00, 0.025, 0.15, 0.12, 0.6, 0.45),
        Preset("rl", (0.05, 0.50, 0.35, 0.10), 0.00, 0.005, 0.03, 0.05, 0.2, 0.12),
    )
}
"""``base`` guesses and wanders, ``sft`` is steadier, ``rl`` hardly varies."""

_GUESS_CONFIDENCE = 0.05
_KEEPS_NAME_WORD = 0.6
"""Probability that a capitalised word survives when its turn to be left out has come."""
_MAX_RESIDUAL = 4
"""Most words of the question that are added to a name."""
_LATEST_BONUS, _RANK_DISCOUNT = 0.5, 0.3
"""Logits for a name to follow, by where it was read."""
_NEGLIGIBLE = 0.05
"""Answers with less than this share of the likeliest one's probability are never drawn."""

Rng = np.random.Generator


class LexicalPolicy:
    """Answers questions from a corpus."""

    def __init__(self, retriever: Retriever, preset: Preset = PRESETS["base"]) -> None:
        self.retriever = retriever
        self.preset = preset

    @property
    def name(self) -> str:
        """What is sampled, up to the corpus and the weights."""
        return f"lexical:{self.preset.name}"

    def pools(self, questions: Iterable[Question], k: int = PAPER_K, seed: int = 0) -> Iterator[Pool]:
        """A pool of k rollouts for each question, as they come; a smaller k gives a prefix."""
        return (Pool.of(question, self.rollouts(question, range(k), seed)) for question in questions)

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, so that an interrupted pool can be completed."""
        notebook = Notebook(question.text, self.retriever)
        name = crc32(question.text.encode("utf-8", "surrogatepass"))
        for sample in samples:
            rng = np.random.default_rng((seed, name, crc32(self.preset.name.encode()), sample))
            walk, (answer, confidence) = self._rollout(notebook, rng)
            label = float(is_right(question.text, answer, question.references)) if question.references else None
            yield Rollout(sample, answer, tuple(walk.searches), label, confidence)

    def _rollout(self, notebook: Notebook, rng: Rng) -> tuple[Walk, tuple[str, float]]:
        question = notebook.question
        choices = question.options or (("yes", "no") if question.kind == "yes/no" else ())
        if rng.random() < self.preset.no_search:
            guesses = choices or question.names
            answers = bool(guesses) and rng.random() < 0.5
            return Walk(), (guesses[int(rng.integers(len(guesses)))], _GUESS_CONFIDENCE) if answers else ("", 0.0)
        walk = walk_of(notebook, self.preset, rng)
        if not walk.seen or rng.random() < self.preset.no_answer:
            return walk, ("", 0.0)
        if choices:
            logit = first_logit(notebook, walk) + self.preset.noise * rng.normal()
            logits = {choices[0]: logit, choices[1]: 0.0}
            surfaces = dict(zip(choices, choices, strict=True))
        else:
            logits, surfaces = _answers(notebook, walk, self.preset, rng)
        return walk, _drawn(logits, surfaces, self.preset.temperature, rng)


def walk_of(notebook: Notebook, preset: Preset, rng: Rng) -> Walk:
    """One to four searches; of a comparison, one for each name first."""
    walk, question = Walk(), notebook.question
    count = 1 + int(rng.choice(len(preset.searches), p=preset.searches))
    waiting: list[str] = []
    if question.kind != "open":
        waiting = list(question.options or question.names[-2:])
        rng.shuffle(waiting)
        if rng.random() > preset.drops_word:  # if they are compared by way of others, such as directors, these as well
            count = max(count, 4 if question.lower & INDIRECT else 2)
    for _ in range(count):
        if waiting:
            notebook.search(waiting.pop(), walk)
        elif not walk.seen or rng.random() < preset.asks_again or not _follow(notebook, walk, preset, rng):
            notebook.search(_reworded(question, preset, rng), walk)
    return walk


def _reworded(question: ParsedQuestion, preset: Preset, rng: Rng) -> str:
    """The question with words left out; never without a content word."""
    draws = rng.random((len(question.words), 2)).tolist()
    kept = [
        word
        for word, (leave, spare) in zip(question.words, draws, strict=True)
        if leave >= preset.drops_word or (word[0].isupper() and spare < _KEEPS_NAME_WORD)
    ]
    return " ".join(kept if any(map(is_content, kept)) else question.words) or question.text


def _follow(notebook: Notebook, walk: Walk, preset: Preset, rng: Rng) -> bool:
    """Search for a name that was read; False: there is none."""
    question, hop = notebook.question, len(walk.searches)
    found: list[tuple[float, int, Choice]] = []
    for index, sighting in walk.seen.items():
        if question.kind != "open" and sighting.is_source:
            continue  # each of the things compared leads to one other
        bonus = _LATEST_BONUS * (sighting.hop == hop - 1) - _RANK_DISCOUNT * sighting.rank
        own = (choice for choice in notebook.notes[index].bridges if choice.name not in walk.followed)
        found += [((choice.logit + bonus) / preset.temperature, index, choice) for choice in own]
    if not found:
        return False
    drawn = np.argmax([logit for logit, _, _ in found] + rng.gumbel(size=len(found)))
    _, index, choice = found[int(drawn)]
    walk.seen[index].is_source = True
    walk.followed.append(choice.name)
    words: list[str] = []
    if question.kind == "open":  # what the source answers already is not asked again
        words = [word for word in question.relation if stem(word) not in notebook.notes[index].passage.stems]
        words = [word for word in words if rng.random() >= max(0.2, 2 * preset.drops_word)]
    notebook.search(" ".join([choice.surface, *words[-_MAX_RESIDUAL:]]), walk, choice.name)
    return True


def trust_features(notebook: Notebook, walk: Walk) -> Floats:
    """(passages seen, 11), in the order of ``walk.seen``."""
    last, notes = len(walk.searches) - 1, [notebook.notes[index] for index in walk.seen]
    rows = []
    for note, sighting in zip(notes, walk.seen.values(), strict=True):
        came_by = (sighting.rank, sighting.hop == last, sighting.hop == 0, sighting.times > 1)
        is_linked = any(note.passage.title_name in other.passage.names for other in notes if other is not note)
        rows.append((*note.covers, *came_by, sighting.is_bridged, sighting.is_source, is_linked))
    return np.array(rows, float)


def _answers(notebook: Notebook, walk: Walk, preset: Preset, rng: Rng) -> tuple[dict[str, float], dict[str, str]]:
    """Logit and best wording of every answer that was read; mentions of one answer add up."""
    trust = (trust_features(notebook, walk) * weights().trust).sum(axis=1)
    trust += preset.noise * rng.normal(size=len(trust))
    mass: dict[str, float] = {}
    best: dict[str, tuple[float, str]] = {}
    for index, extra in zip(walk.seen, trust.tolist(), strict=True):
        for name, surface, logit in notebook.notes[index].answers:
            mass[name] = float(np.logaddexp(mass.get(name, -np.inf), logit + extra))
            best[name] = max(best.get(name, (-np.inf, "")), (logit, surface), key=lambda one: one[0])
    return mass, {name: surface for name, (_, surface) in best.items()}


def _drawn(logits: Mapping[str, float], surfaces: Mapping[str, str], temperature: float, rng: Rng) -> tuple[str, float]:
    """An answer by its probability, and that probability at temperature 1."""
    if not logits:
        return "", 0.0
    raised = np.array(list(logits.values()))
    raised -= raised.max()
    own = np.exp(raised)
    drawn = np.exp(raised / temperature) * (np.exp(raised / temperature) >= _NEGLIGIBLE)
    index = int(rng.choice(len(drawn), p=drawn / drawn.sum()))
    return surfaces[list(logits)[index]], float(own[index] / own.sum())
