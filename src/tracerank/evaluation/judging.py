"""A chat model that judges answers by the references, with the three verdicts of the published SimpleQA grader.

An exact match is right without a question. The model writes the answer down in short, which our rule by meaning
compares with the references; its verdict is for what the rule does not find right. An answer about
which a call fails, or says none of the three in all attempts, has no label and is counted: it is never wrong because
nobody judged it. Replies are kept on disk, so the same command asks only about what is left.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from tracerank.answers.exact import exact_match
from tracerank.answers.meaning.rightness import MOST_REFERENCES, is_right
from tracerank.cache_folders import default_reply_folder
from tracerank.chat.asking import (
    CountedChat,
    all_of,
    bounded,
    cut_words,
    in_order,
    quoted,
    room_in,
    short_answer,
    strict_reply,
    tried,
)
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatModel, ChatReply, Sampling
from tracerank.errors import ChatError, UsageError
from tracerank.evaluation.agreement import Agreement
from tracerank.pools.pool import Pool


@cache
def _prompt() -> str:
    return resources.files("tracerank.evaluation").joinpath("assets", "judge.txt").read_text(encoding="utf-8").strip()


class Verdict(StrEnum):
    """What the judge may say; not to have tried is not right either, but counted apart."""

    CORRECT = "CORRECT"
    INCORRECT = "INCORRECT"
    NOT_ATTEMPTED = "NOT_ATTEMPTED"


# In capitals anywhere, else at the beginning of a line and parted from what follows: "a correct guess" is no verdict.
_WORDS = r"NOT[ _]ATTEMPTED|NOT CORRECT|INCORRECT|CORRECT"
_VERDICT = re.compile(rf"""\b({_WORDS})\b|^[\s*_"'(]{{0,8}}((?i:{_WORDS}))(?=[\s*_"')]{{0,8}}(?:[,;:!.\n]|\Z))""", re.M)


@dataclass(frozen=True, slots=True)
class JudgeConfig:
    """How answers are judged."""

    max_tokens: int = VERDICT_TOKENS
    answer_words: int = 1_500
    """Words of an answer in a prompt, about 2,000 tokens; a longer one is cut where a mark says so."""
    concurrency: int = 4
    """Questions under way at once, and answers of each."""

    def within(self, context: int) -> "JudgeConfig":
        """The same for a model that holds so many tokens."""
        room = room_in(context)
        return replace(
            self,
            max_tokens=min(self.max_tokens, room.reply_tokens),
            answer_words=min(self.answer_words, room.prompt_words),
        )


class AnswerJudge:
    """Says how right answers are, and counts its verdicts and how often our rule by meaning says the same."""

    def __init__(self, chat: ChatModel, config: JudgeConfig | None = None) -> None:
        self.config = config or JudgeConfig()
        self.verdicts: Counter[Verdict] = Counter()
        self.failed: list[str] = []
        """Why answers could not be judged, one by one."""
        self.exact = 0
        """Answers that are exact matches, about which nobody was asked."""
        self.by_short_answer = 0
        """Answers that are right by the rule, once the model has written them down in short."""
        self.overruled = 0
        """Of these, those that its own verdict calls wrong."""
        self.agreement = Agreement()
        self._model = chat
        self._chat = CountedChat(chat)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    def in_order(self, label: Callable[[Pool], Pool], pools: Iterable[Pool]) -> Iterator[Pool]:
        """The pools as they are labelled, several of them under way."""
        stop = threading.Event()
        self._chat = CountedChat(self._model, stop)
        return in_order(label, pools, self.config.concurrency, stop)

    def scores(self, question: str, answers: Sequence[str], references: Sequence[str]) -> list[float | None]:
        """1 for each answer that is right, else 0; None: asking about it failed."""
        open_answers = [answer for answer in answers if not exact_match(answer, references)]
        with self._lock:
            self.exact += len(answers) - len(open_answers)
        found = all_of(
            tried(lambda answer: self.judgement(question, answer, references)), open_answers, self.config.concurrency
        )
        labels: dict[str, float | None] = {}
        for answer, judgement in zip(open_answers, found, strict=True):
            if isinstance(judgement, ChatError):
                labels[answer] = None
                with self._lock:
                    self.failed.append(str(judgement))
                continue
            labels[answer] = float(judgement.verdict is Verdict.CORRECT)
            is_same = is_right(question, answer, references)
            with self._lock:
                self.verdicts[judgement.verdict] += 1
                self.by_short_answer += judgement.by_short_answer
                self.overruled += judgement.is_overruled
                self.agreement.add(judgement.verdict is Verdict.CORRECT, is_same)
        return [labels.get(answer, 1.0) for answer in answers]

    def judgement(self, question: str, answer: str, references: Sequence[str]) -> "Judgement":
        """What comes of asking the model about one answer."""
        prompt = _prompt().format(
            question=quoted(question),
            references=quoted(list(dict.fromkeys(references))[:MOST_REFERENCES]),
            answer=quoted(cut_words(answer, self.config.answer_words)),
        )

        def read(reply: ChatReply) -> Judgement | None:
            return judgement_in(reply, question, references)

        wanted = f"the short answer and one of {', '.join(Verdict)}"
        return strict_reply(self._chat, prompt, Sampling(self.config.max_tokens, seed=0), read, wanted)

    def record(self) -> dict[str, Any]:
        """Counts, as JSON has them; agreement is over the answers that the judge was asked about."""
        return {
            "model": self.name,
            "verdicts": {str(verdict): self.verdicts[verdict] for verdict in Verdict},
            "exact_matches_not_asked": self.exact,
            "failed": len(self.failed),
            "right_by_short_answer": self.by_short_answer,
            "of_these_wrong_by_verdict": self.overruled,
            "agreement_with_meaning": self.agreement.record(),
        }

    @property
    def sentence(self) -> str:
        """Verdicts and agreement in a line."""
        said = ", ".join(f"{self.verdicts[verdict]:,} {verdict.lower().replace('_', ' ')}" for verdict in Verdict)
        agreed = self.agreement.sentence("judge", "rule")
        short = f"{self.by_short_answer:,} by their short answer, {self.overruled:,} of them against its verdict"
        failed = f"; {len(self.failed):,} could not be judged ({self.failed[0]})" if self.failed else ""
        return f"judge: {said} ({short}); {self.exact:,} exact matches were not asked about; {agreed}{failed}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is concluded from one reply."""

    verdict: Verdict
    by_short_answer: bool = False
    """The rule finds the short answer right."""
    is_overruled: bool = False
    """The model's own verdict was another."""


def judgement_in(reply: ChatReply, question: str, references: Sequence[str]) -> Judgement | None:
    """The rule on the short answer, then the verdict; None: the reply has neither."""
    verdict, short = verdict_in(reply), short_answer(reply, "Short answer")
    if short and is_right(question, short, references):
        is_overruled = verdict not in (None, Verdict.CORRECT)
        return Judgement(Verdict.CORRECT, by_short_answer=True, is_overruled=is_overruled)
    return None if verdict is None else Judgement(verdict)


def verdict_in(reply: ChatReply) -> Verdict | None:
    """The last verdict outside the thinking; None: there is none, or the reply was cut before it came to one."""
    text = reply.spoken
    found = list(_VERDICT.finditer(text))
    if not found or (reply.is_cut and text[: found[-1].start()].strip()):
        return None
    word = (found[-1][1] or found[-1][2]).upper().replace(" ", "_")
    return Verdict.INCORRECT if word == "NOT_CORRECT" else Verdict(word)


def judge_at(
    address: str, context: int | None = None, tokens: int | None = None, time: str | None = None
) -> AnswerJudge:
    """The judge behind ``URL#MODEL``, asked the same only once; the rest as ``--chat-context`` and its likes say it."""
    from tracerank.endpoints.chat_cache import CachedChat
    from tracerank.endpoints.chat_http import HttpChat, chat_config

    if not address.strip():
        raise UsageError("a judge needs a chat server and its model's name: --labels judge:URL#MODEL")
    chat = CachedChat(HttpChat(chat_config(address, time)), default_reply_folder())
    return AnswerJudge(chat, bounded(JudgeConfig(), context, tokens))
