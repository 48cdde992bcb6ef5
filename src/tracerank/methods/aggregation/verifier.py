"""An LLM verifier: each candidate is judged alone, right or wrong, and the likeliest one is chosen.

The score is the probability of yes where the endpoint tells log-probabilities, else 1 or 0. A reply that says neither
yes nor no is asked again and then an error, never a guess.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tracerank.answers.equivalence import NO_GROUP
from tracerank.endpoints.chat import ChatModel, ChatReply, Sampling, TokenLogprob
from tracerank.methods.aggregation.asking import (
    AskingMethod,
    CountedChat,
    all_of,
    cut_words,
    fit_words,
    quoted,
    room_in,
    strict_reply,
)
from tracerank.methods.answer_groups import AnswerGrouping
from tracerank.methods.base import Decision
from tracerank.methods.prompts import prompt_text
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Retained, RetentionRule, Rollout

# In capitals anywhere, else at the beginning of a line and parted from what follows: "There is no proof" is no verdict.
_VERDICT = re.compile(r"""\b(YES|NO)\b|^[\s*_"'(]{0,8}((?i:yes|no))(?=[\s*_"')]{0,8}(?:[,;:!.\n]|\Z))""", re.M)
_LIKELY_TOKENS = 5  # what every server allows


@dataclass(frozen=True, slots=True)
class VerifierConfig:
    """How candidates are judged."""

    max_tokens: int = 1024
    """Room for a model that thinks before it says one word."""
    evidence_words: int = 3_000
    """Words of evidence in one prompt, about 4,000 tokens; longer texts are cut where a mark says so."""
    answer_words: int = 300
    concurrency: int = 4
    """Questions under way at once, and candidates of each."""
    rule: RetentionRule | None = None
    """Which rollouts are candidates; None: those that the pool's setting retains."""

    def within(self, context: int) -> "VerifierConfig":
        """The same for a model that holds so many tokens."""
        room = room_in(context)
        return replace(
            self,
            max_tokens=min(self.max_tokens, room.reply_tokens),
            evidence_words=min(self.evidence_words, room.prompt_words),
        )


class Verifier(AskingMethod):
    """The candidate with the best score; ties go to the first.

    With a grouping the scores of equal answers are summed, which makes it a vote weighted by the verifier.
    """

    def __init__(
        self, chat: ChatModel, config: VerifierConfig | None = None, grouping: AnswerGrouping | None = None
    ) -> None:
        self.config = config or VerifierConfig()
        self.grouping = grouping
        self.name = "verifier" if grouping is None else f"verifier-sum-{grouping.name}"
        super().__init__(chat, self.config.concurrency, self.config.rule)

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        kept = retained.kept
        prompts = [self._prompt(pool.question.text, rollout) for rollout in kept]
        distinct = list(dict.fromkeys(prompts))
        found = all_of(lambda prompt: self._score(chat, prompt), distinct, self.concurrency)
        of_prompt = dict(zip(distinct, found, strict=True))
        scores = [of_prompt[prompt] for prompt in prompts]
        groups = self._groups(pool.question.text, kept)
        sums: dict[int, float] = {}
        for group, score in zip(groups, scores, strict=True):
            sums[group] = sums.get(group, 0.0) + score
        place = max(range(len(kept)), key=lambda index: sums[groups[index]])  # the first of equals
        winner = kept[place]
        members = tuple(one.sample_id for one, group in zip(kept, groups, strict=True) if group == groups[place])
        return Decision(
            pool.question.id,
            winner.answer,
            winner.sample_id,
            {rollout.sample_id: sums[group] for rollout, group in zip(kept, groups, strict=True)},
            retained.dropped,
            () if self.grouping is None else members,
            usage=chat.usage,
        )

    def _groups(self, question: str, kept: Sequence[Rollout]) -> list[int]:
        """A number per rollout, equal where scores are summed."""
        if self.grouping is None:
            return list(range(len(kept)))
        groups = self.grouping.groups(question, [rollout.answer for rollout in kept])
        # What no group holds stands alone.
        return [-2 - place if group == NO_GROUP else group for place, group in enumerate(groups)]

    def _prompt(self, question: str, rollout: Rollout) -> str:
        evidence = dict.fromkeys(_shown(one) for search in rollout.searches for one in search.evidence)
        lines = [quoted(text) for text in fit_words(list(evidence), self.config.evidence_words)]
        return prompt_text("verify").format(
            question=quoted(question),
            evidence="\n".join(lines) or "(none)",
            answer=quoted(cut_words(rollout.answer or "", self.config.answer_words)),
        )

    def _score(self, chat: CountedChat, prompt: str) -> float:
        sampling = Sampling(self.config.max_tokens, seed=0, top_logprobs=_LIKELY_TOKENS)
        return strict_reply(chat, prompt, sampling, probability_of_yes, "YES or NO")


def probability_of_yes(reply: ChatReply) -> float | None:
    """How likely the model's verdict was to be yes; None: it gave none."""
    text = reply.spoken
    said = _last_verdict(text)
    if said is None or (reply.is_cut and text[: said.start].strip()):  # a cut reply has not come to its verdict
        return None
    token = _verdict_token(reply.logprobs or ())
    if token is None:
        return float(said.word == "yes")
    likely = token.likely or (token,)
    yes, no = (sum(math.exp(one.logprob) for one in likely if _begins(one.token, word)) for word in ("yes", "no"))
    if yes and no:
        return yes / (yes + no)
    # Only one of them is listed: what it leaves is the other's at most.
    return min(1.0, yes) if yes else 1.0 - min(1.0, no)


class _Verdict(NamedTuple):
    start: int
    word: str
    """``yes`` or ``no``."""


def _last_verdict(text: str) -> _Verdict | None:
    last = None
    for found in _VERDICT.finditer(text):
        last = _Verdict(found.start(found.lastindex or 0), found[found.lastindex or 0].lower())
    return last


def _verdict_token(tokens: Sequence[TokenLogprob]) -> TokenLogprob | None:
    """The token with which the last verdict begins; None: the tokens do not spell one."""
    verdict = _last_verdict("".join(token.token for token in tokens))
    if verdict is None:
        return None
    at = 0
    for token in tokens:
        at += len(token.token)
        if at > verdict.start:
            return token if _begins(token.token, verdict.word) else None
    return None


def _begins(token: str, word: str) -> bool:
    """Whether the token is the word or its beginning, in whatever case and with whatever signs around it."""
    letters = "".join(char for char in token.lower() if char.isalpha())
    return bool(letters) and word.startswith(letters)


def _shown(evidence: Evidence) -> str:
    return " | ".join(filter(None, [evidence.title, evidence.text]))
