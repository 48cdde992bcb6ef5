"""A generated world of one-hop questions: K agents search it, and many of them fall for the same wrong answer.

The errors are explicit (``ErrorModel``), the texts come from ``wording.py``, and a seed settles everything. Ranked
chunks only (the WebQA setting); no corpus is indexed and no model is asked.
"""

from dataclasses import dataclass
from random import Random

from tracerank.answers.exact import exact_match
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Question, Rollout, Search
from tracerank.rollouts import wording
from tracerank.rollouts.wording import Relation, Template, distinct_answers, invented_name

CHUNKS_PER_SEARCH = 3  # Sec. 3.2
DATASET = "generated-world"


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """How agents err: a careful search asks for the full name and finds the register, a hasty one the namesakes."""

    care: tuple[tuple[float, float], ...] = ((0.37, 0.9), (0.55, 0.17), (0.08, 0.0))
    """Kinds of question as (share of questions, share of careful searches): clear, misleading, hopeless."""
    searches: tuple[float, ...] = (0.52, 0.36, 0.12)
    """Shares of rollouts with 1, 2, 3 searches."""
    names_district: tuple[float, float] = (0.7, 0.25)
    """Chance that a careful, and that a hasty, search is worded with the district that tells namesakes apart."""
    careful_finds: float = 0.9
    """Chance that a careful search returns a supporting passage."""
    hasty_finds: float = 0.06
    """Chance that a hasty one does, on a question that is not hopeless."""
    strays: float = 0.3
    """Chance that a search which found support returns a misleading passage too."""
    heeds_register: float = 0.92
    """Chance that an agent with the register before it answers from it; without it any statement read may win."""
    guesses_right: float = 0.12
    """Chance that an agent which read nothing of use knows the answer, on a question that is not hopeless."""
    clips: float = 0.03
    """Chance that only the first word of the answer is given: supported, yet wrong by exact match."""
    dots: float = 0.05
    """Chance of a full stop after the answer, which normalisation removes."""
    no_answer: float = 0.08
    no_search: float = 0.08
    no_return: float = 0.06
    """Shares of rollouts that are never retained: without an answer, without a search, with empty returns only."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of the world and the answer it states."""

    title: str
    body: str
    answer: str | None
    """None: it says nothing about the question."""

    def seen_at(self, rank: int) -> Evidence:
        return Evidence(f'(Title: "{self.title}") {self.body}', title=self.title, rank=rank)


@dataclass(frozen=True, slots=True)
class Case:
    """One question with everything that can be found about it."""

    question: Question
    relation: Relation
    subject: str
    district: str
    care: float
    """Share of careful searches; 0: nobody can find the answer."""
    answer: str
    decoys: tuple[str, ...]
    """Wrong answers of the right kind; the first is the bait that most misled agents swallow."""
    register: tuple[Passage, ...]
    plain: tuple[Passage, ...]
    """State the right answer in words that some of the ``misleading`` passages share."""
    misleading: tuple[Passage, ...]
    filler: tuple[Passage, ...]


def generate_pools(questions: int, seed: int, k: int = 16, errors: ErrorModel | None = None) -> list[Pool]:
    """Pools of k rollouts; fewer questions or a smaller k give a prefix of the same world."""
    errors = errors or ErrorModel()
    pools = []
    for index in range(questions):
        case = _case(Random(f"{seed}/{index}"), index, seed, errors)
        rollouts = [_rollout(case, Random(f"{seed}/{index}/{sample}"), sample, errors) for sample in range(k)]
        pools.append(Pool.of(case.question, rollouts))
    return pools


def _case(rng: Random, index: int, seed: int, errors: ErrorModel) -> Case:
    relation = rng.choice(wording.RELATIONS)
    subject = relation.subject.format(name=invented_name(rng))
    district, *others = (invented_name(rng) for _ in range(4))
    answer, bait, *decoys = distinct_answers(rng, relation.kind, 5)

    def passage(template: Template, stated: str | None, of: str = district) -> Passage:
        fact = relation.fact.format(subject=subject, answer=stated)
        other, year = rng.choice(others), rng.randint(1650, 1990)
        title, body = (
            part.format(subject=subject, district=of, other=other, year=year, fact=fact) for part in template
        )
        return Passage(title, body[0].upper() + body[1:], stated)

    # The bait stands in four different passages, of which an agent meets one or two; every other decoy in one. So the
    # wrong plurality rests on scattered evidence that contradicts itself.
    official = rng.sample(wording.REGISTER_PASSAGES, k=3)
    lures = [passage(template, bait) for template in wording.PLAIN_PASSAGES]
    lures.append(passage(official.pop(), bait, of=rng.choice(others)))
    lures += [
        passage(template, stated)
        for template, stated in zip(rng.sample(wording.MISLEADING_PASSAGES, k=4), (bait, *decoys), strict=True)
    ]
    shares, cares = zip(*errors.care, strict=True)
    return Case(
        question=Question(
            f"{seed}-{index:05d}", relation.ask.format(subject=subject, district=district), (answer,), DATASET
        ),
        relation=relation,
        subject=subject,
        district=district,
        care=rng.choices(cares, shares)[0],
        answer=answer,
        decoys=(bait, *decoys),
        register=tuple(passage(template, answer) for template in official),
        plain=tuple(passage(template, answer) for template in wording.PLAIN_PASSAGES),
        misleading=tuple(lures),
        filler=tuple(passage(template, None) for template in rng.sample(wording.FILLER_PASSAGES, k=4)),
    )


def _rollout(case: Case, rng: Random, sample_id: int, errors: ErrorModel) -> Rollout:
    shares = (errors.no_answer, errors.no_search, errors.no_return)
    fate = rng.choices(("silent", "idle", "unserved", "usual"), (*shares, 1 - sum(shares)))[0]
    count = 0 if fate == "idle" else rng.choices(range(1, len(errors.searches) + 1), errors.searches)[0]
    looks = [_look(case, rng, errors) for _ in range(count)]
    if fate == "unserved":
        looks = [(query, []) for query, _ in looks]
    read = [passage for _, returned in looks for passage in returned]
    answer = None if fate == "silent" else _answer(case, read, rng, errors)
    return Rollout(
        sample_id=sample_id,
        answer=answer,
        searches=tuple(
            Search(query, tuple(passage.seen_at(rank) for rank, passage in enumerate(returned, start=1)))
            for query, returned in looks
        ),
        label=exact_match(answer, case.question.references),
    )


def _look(case: Case, rng: Random, errors: ErrorModel) -> tuple[str, list[Passage]]:
    """A query and the three distinct passages it returns, in ranked order."""
    is_careful = rng.random() < case.care
    names_district = rng.random() < errors.names_district[0 if is_careful else 1]
    query = rng.choice(wording.FULL_QUERIES if names_district else wording.SHORT_QUERIES)
    chance = errors.careful_finds if is_careful else errors.hasty_finds
    if case.care and rng.random() < chance:
        found = rng.sample((*case.register, *case.plain), k=rng.choice((1, 2)))
        if rng.random() < errors.strays:
            found.append(rng.choice(case.misleading))
    else:
        found = rng.sample(case.misleading, k=rng.choice((1, 1, 2)))
    found += rng.sample(case.filler, k=CHUNKS_PER_SEARCH - len(found))
    rng.shuffle(found)
    return query.format(subject=case.subject, district=case.district, topic=case.relation.topic), found


def _answer(case: Case, read: list[Passage], rng: Random, errors: ErrorModel) -> str:
    stated = [passage.answer for passage in read if passage.answer is not None]
    if any(passage in case.register for passage in read) and rng.random() < errors.heeds_register:
        answer = case.answer
    elif stated:
        answer = rng.choice(stated)
    elif case.care and rng.random() < errors.guesses_right:
        answer = case.answer
    else:
        answer = rng.choice(case.decoys)
    if rng.random() < errors.clips:
        answer = answer.split()[0]
    return f"{answer}." if rng.random() < errors.dots else answer
