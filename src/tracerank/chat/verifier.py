"""An LLM verifier: each candidate is judged alone, right or wrong, and the likeliest one is chosen.

The score is the probability of yes where the endpoint gives log probabilities, else 1 or 0. A reply that says neither
yes nor no is asked for again and then a missing score, never a guess.
"""

import math
import re
from collections.abc import Sequence

from tracerank.chat.asking import (
    AskingMethod,
    CountedChat,
    Room,
    all_of,
    cut_words,
    fit_words,
    quoted,
    strict_reply,
)
from tracerank.chat.prompts import prompt_text
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatReply, Sampling, TokenLogprob, tried
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Retained, Rollout
from tracerank.votes.base import ALIKE, Decision

# In capitals anywhere, else at the beginning of a line and parted from what follows: "There is no proof" is no verdict.
_VERDICT = re.compile(r"""\b(YES|NO)\b|^[\s*_"'(]{0,8}((?i:yes|no))(?=[\s*_"')]{0,8}(?:[,;:!.\n]|\Z))""", re.M)
_ANSWER_WORDS = 300
_LIKELY_TOKENS = 5  # what every server allows
_ALIKE_WITHIN = 1e-6
_MOST_LIKELY = 1.05
"""Sum of the probabilities of one token above which they are not probabilities: some servers fill in zeros."""


class Verifier(AskingMethod):
    """The candidate with the best score; ties go to the first."""

    name = "verifier"
    room = Room(VERDICT_TOKENS, prompt_words=3_000)  # of evidence, about 4,000 tokens

    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        kept = retained.kept
        prompts = [self._prompt(pool.question.text, rollout) for rollout in kept]
        distinct = list(dict.fromkeys(prompts))
        found = all_of(tried(lambda prompt: self._score(chat, prompt)), distinct, self.concurrency)
        failed = [score for score in found if isinstance(score, ChatError)]
        if len(failed) == len(found):
            raise failed[0]
        score_of = {
            prompt: score for prompt, score in zip(distinct, found, strict=True) if not isinstance(score, ChatError)
        }
        winner = max(range(len(kept)), key=lambda index: score_of.get(prompts[index], -1.0))  # the first of equals
        missing = sum(prompt not in score_of for prompt in prompts)
        notes = [f"{missing} of {len(kept)} candidates have no score ({failed[0]})"] if missing else []
        if len(score_of) > 1 and max(score_of.values()) - min(score_of.values()) < _ALIKE_WITHIN:
            notes.append(f"{ALIKE} ({score_of[prompts[winner]]:.3g}): the first candidate was taken")
        return Decision(
            pool.question.id,
            kept[winner].answer,
            kept[winner].sample_id,
            {one.sample_id: score_of[prompt] for one, prompt in zip(kept, prompts, strict=True) if prompt in score_of},
            retained.dropped,
            usage=chat.usage,
            note="; ".join(notes) or None,
        )

    def _prompt(self, question: str, rollout: Rollout) -> str:
        evidence = dict.fromkeys(_shown(one) for search in rollout.searches for one in search.evidence)
        lines = [quoted(text) for text in fit_words(list(evidence), self.given.prompt_words)]
        return prompt_text("verify").format(
            question=quoted(question),
            evidence="\n".join(lines) or "(none)",
            answer=quoted(cut_words(rollout.answer or "", _ANSWER_WORDS)),
        )

    def _score(self, chat: CountedChat, prompt: str) -> float:
        sampling = Sampling(self.given.max_tokens, seed=0, top_logprobs=_LIKELY_TOKENS)
        return strict_reply(chat, prompt, sampling, probability_of_yes, "YES or NO")


def probability_of_yes(reply: ChatReply) -> float | None:
    """How likely the model's verdict was to be yes; None: it gave none."""
    text = reply.spoken
    said = _last_verdict(text)
    if said is None or (reply.is_cut and text[: said[0]].strip()):  # a cut reply has not come to its verdict
        return None
    token = _verdict_token(reply.logprobs or (), said[1])
    likely = () if token is None else token.likely or (token,)
    probabilities = [(one.token, math.exp(min(one.logprob, 0.0))) for one in likely]
    if not 0 < sum(value for _, value in probabilities) < _MOST_LIKELY:
        return float(said[1] == "yes")
    yes, no = (sum(value for token, value in probabilities if _begins(token, word)) for word in ("yes", "no"))
    if yes and no:
        return yes / (yes + no)
    # Only one of them is listed: what it leaves is the other's at most.
    return min(1.0, yes) if yes else 1.0 - min(1.0, no)


def _last_verdict(text: str) -> tuple[int, str] | None:
    """Where the last verdict begins, and whether it is ``yes`` or ``no``."""
    found = list(_VERDICT.finditer(text))[-1:]
    return next(((match.start(match.lastindex or 0), match[match.lastindex or 0].lower()) for match in found), None)


def _verdict_token(tokens: Sequence[TokenLogprob], said: str) -> TokenLogprob | None:
    """The token with which the last verdict begins; None: the tokens do not spell what was said.

    Behind a reasoning parser they may be those of the thinking, which then say nothing about the verdict.
    """
    verdict = _last_verdict("".join(token.token for token in tokens))
    if verdict is None or verdict[1] != said:
        return None
    at = 0
    for token in tokens:
        at += len(token.token)
        if at > verdict[0]:
            return token if _begins(token.token, said) else None
    return None


def _begins(token: str, word: str) -> bool:
    """Whether the token is the word or its beginning, in any case and with any signs around it."""
    letters = "".join(char for char in token.lower() if char.isalpha())
    return bool(letters) and word.startswith(letters)


def _shown(evidence: Evidence) -> str:
    return " | ".join(filter(None, [evidence.title, evidence.text]))
