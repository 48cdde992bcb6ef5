"""A verifier that grades meanings, not rollouts: by several criteria, with the expected value over grades.

Rollouts whose answers mean the same are one candidate, shown with what all of them saw, so that each meaning is paid
for once. What the plain verifier of the paper does is ``verifier.py``'s; comparing two by two is ``tournament.py``'s.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.exact import normalize_answer
from tracerank.chat.asking import (
    AskingMethod,
    CountedChat,
    all_of,
    cut_words,
    fit_words,
    quoted,
    room_in,
    strict_reply,
    tried,
)
from tracerank.chat.grades import LIKELY_TOKENS, Grade, grades_in, mean_grade
from tracerank.chat.prompts import prompt_text
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatModel, Sampling
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule, Rollout
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.base import ALIKE, Decision

CRITERIA = (
    "The answer is what the question asks for: the right kind of thing, about the right subject, with every condition "
    "of the question met.",
    "The evidence supports the answer, and nothing in the evidence speaks against it.",
)
"""What an answer is graded by, one call each."""
_ALIKE_WITHIN = 1e-6


@dataclass(frozen=True, slots=True)
class GradingConfig:
    """How meanings are graded, and what that may cost."""

    criteria: tuple[str, ...] = CRITERIA
    repeats: int = 1
    """How often each criterion is put: with the evidence in another order, or the two answers in the other places."""
    most_calls: int = 48
    """Calls that a question may cost, replies that have to be asked for again aside; of more meanings than that pays
    for, those with most votes are graded."""
    max_tokens: int = VERDICT_TOKENS
    evidence_words: int = 3_000
    """Words of evidence in one prompt, of both answers together where there are two."""
    answer_words: int = 300
    concurrency: int = 4
    rule: RetentionRule | None = None
    """Which rollouts are candidates; None: those that the pool's setting retains."""

    def __post_init__(self) -> None:
        if not self.criteria or self.repeats < 1 or self.most_calls < 2 * len(self.criteria) * self.repeats:
            raise ValueError("grading needs a criterion, a repeat, and calls for two meanings")

    def within(self, context: int) -> "GradingConfig":
        """The same for a model that holds so many tokens."""
        room = room_in(context)
        return replace(
            self,
            max_tokens=min(self.max_tokens, room.reply_tokens),
            evidence_words=min(self.evidence_words, room.prompt_words),
            answer_words=min(self.answer_words, room.prompt_words // 4),
        )


class Meaning(NamedTuple):
    """Rollouts whose answers mean the same."""

    shown: Rollout
    """The first with the commonest wording."""
    members: tuple[int, ...]
    """Sample ids."""
    evidence: tuple[str, ...]
    """What they saw, each text once."""


def meanings_of(question: str, kept: Sequence[Rollout]) -> list[Meaning]:
    """The meanings, those with most votes first; equals in order of appearance. Where all abstain, each text is one."""
    groups = MeaningGroups().groups(question, [rollout.answer for rollout in kept])
    if all(group == NO_GROUP for group in groups):
        numbers: dict[str, int] = {}
        groups = tuple(numbers.setdefault(normalize_answer(rollout.answer), len(numbers)) for rollout in kept)
    found: dict[int, list[Rollout]] = {}
    for rollout, group in zip(kept, groups, strict=True):
        if group != NO_GROUP:
            found.setdefault(group, []).append(rollout)
    made = []
    for members in found.values():
        forms = Counter(normalize_answer(member.answer) for member in members)
        shown = max(members, key=lambda member: forms[normalize_answer(member.answer)])
        seen = (one for member in members for search in member.searches for one in search.evidence)
        texts = dict.fromkeys(" | ".join(filter(None, (one.title, one.text))) for one in seen)
        made.append(Meaning(shown, tuple(member.sample_id for member in members), tuple(texts)))
    return sorted(made, key=lambda meaning: -len(meaning.members))


class GradedVerifier(AskingMethod):
    """The meaning with the best mean grade; ties go to the one with most votes, then to the first."""

    name = "verifier-graded"

    def __init__(self, chat: ChatModel, config: GradingConfig | None = None) -> None:
        self.config = config or GradingConfig()
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        config = self.config
        meanings = meanings_of(pool.question.text, retained.kept)
        each = len(config.criteria) * config.repeats
        graded = meanings[: max(1, config.most_calls // each)]
        if len(graded) == 1:
            return settled(pool, retained, meanings, {}, chat, [])
        work = [
            (place, self._prompt(pool.question.text, meaning, criterion, repeat))
            for place, meaning in enumerate(graded)
            for criterion in config.criteria
            for repeat in range(config.repeats)
        ]
        found = all_of(tried(lambda one: self._grade(chat, one[1])), work, self.concurrency)
        failed = [grade for grade in found if isinstance(grade, ChatError)]
        if len(failed) == len(found):
            raise failed[0]
        own: dict[int, list[Grade]] = {}
        for (place, _), grade in zip(work, found, strict=True):
            if not isinstance(grade, ChatError):
                own.setdefault(place, []).append(grade)
        grades = {place: mean_grade(given) for place, given in own.items()}
        notes = [f"{len(failed)} of {len(found)} grades are missing ({failed[0]})"] if failed else []
        notes += [told] if (told := by_letter([grade for given in own.values() for grade in given])) else []
        scores = {place: grade.value for place, grade in grades.items()}
        return settled(pool, retained, meanings, scores, chat, notes)

    def _prompt(self, question: str, meaning: Meaning, criterion: str, repeat: int) -> str:
        return prompt_text("grade_answer").format(
            question=quoted(question),
            evidence=evidence_lines(meaning, self.config.evidence_words, repeat),
            answer=quoted(cut_words(meaning.shown.answer or "", self.config.answer_words)),
            criterion=criterion,
        )

    def _grade(self, chat: CountedChat, prompt: str) -> Grade:
        sampling = Sampling(self.config.max_tokens, seed=0, top_logprobs=LIKELY_TOKENS)
        [grade] = strict_reply(
            chat, prompt, sampling, lambda reply: grades_in(reply, ("Grade",)), "a letter from A to T"
        )
        return grade


def evidence_lines(meaning: Meaning, words: int, repeat: int) -> str:
    """What is shown of a meaning's evidence; a repeat begins elsewhere, since the place of a text sways a model."""
    texts = meaning.evidence
    start = repeat * len(texts) // 2 % max(1, len(texts))
    lines = [quoted(text) for text in fit_words([*texts[start:], *texts[:start]], words)]
    return "\n".join(lines) or "(none)"


def by_letter(grades: Sequence[Grade]) -> str | None:
    """That some grades are letters as written; None: all are expected values."""
    written = sum(not grade.is_expected for grade in grades)
    if not written:
        return None
    return f"{written} of {len(grades)} grades are the letter that was written: no log-probabilities came with it"


def settled(
    pool: Pool,
    retained: Retained,
    meanings: Sequence[Meaning],
    scores: dict[int, float],
    chat: CountedChat,
    notes: list[str],
) -> Decision:
    """The best meaning of those with a score, by place; without any, the first."""
    best = max(scores, key=lambda place: (scores[place], -place), default=0)
    if len(scores) > 1 and max(scores.values()) - min(scores.values()) < _ALIKE_WITHIN:
        notes.append(f"{ALIKE} ({scores[best]:.3g}): the meaning with most votes was taken")
    unseen = len(meanings) - len(scores)
    if scores and unseen:
        notes.append(f"{unseen} of {len(meanings)} meanings have no score")
    winner = meanings[best]
    return Decision(
        pool.question.id,
        winner.shown.answer,
        winner.shown.sample_id,
        {sample: score for place, score in scores.items() for sample in meanings[place].members},
        retained.dropped,
        winner.members,
        usage=chat.usage,
        note="; ".join(notes) or None,
    )
