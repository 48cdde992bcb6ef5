"""A chat model that judges answers by the references, with the three verdicts of the published SimpleQA grader.

An exact match is right without asking. The model writes the answer down in short, which the rule by meaning compares
with the references; its verdict decides what the rule does not find right. An answer about which a call fails, or
without a verdict in all attempts, has no label. Replies are kept on disk, so the same command asks about the rest.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from importlib import resources
from typing import Any

from tracerank.answers.exact import exact_match
from tracerank.answers.meaning.rightness import MAX_REFERENCES, is_right
from tracerank.cache_folders import default_reply_folder
from tracerank.chat.asking import CountedChat, all_of, cut_words, in_order, quoted, strict_reply
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatModel, ChatReply, Sampling, tried
from tracerank.errors import ChatError, UsageError
from tracerank.evaluation.agreement import Agreement
from tracerank.pools.pool import Pool


class Verdict(StrEnum):
    """The judge's verdicts; not attempted is not right either, but counted apart."""

    CORRECT = "CORRECT"
    INCORRECT = "INCORRECT"
    NOT_ATTEMPTED = "NOT_ATTEMPTED"


# In capitals anywhere, else at the beginning of a line and parted from what follows: "a correct guess" is no verdict.
_WORDS = r"NOT[ _]ATTEMPTED|NOT CORRECT|INCORRECT|CORRECT"
_VERDICT = re.compile(rf"""\b({_WORDS})\b|^[\s*_"'(]{{0,8}}((?i:{_WORDS}))(?=[\s*_"')]{{0,8}}(?:[,;:!.\n]|\Z))""", re.M)
_SHORT = re.compile(r"^[ \t*_#>-]{0,6}Short answer[ *_]{0,4}:[ *_]{0,4}(.*)$", re.M | re.I)
_COPIED = re.compile(r"what the answer says", re.I)
"""The words of our own prompt, copied where an answer belongs."""
PROMPT_WORDS = 1_500
"""Of an answer, about 2,000 tokens."""


class AnswerJudge:
    """Judges answers, and counts its verdicts and how often the rule by meaning agrees."""

    def __init__(self, chat: ChatModel, *, concurrency: int = 4) -> None:
        self.concurrency = concurrency
        self.judged: Counter[Verdict] = Counter()
        self.failed: list[str] = []
        """Why answers could not be judged, one by one."""
        self.exact = 0
        """Exact matches, which were not asked about."""
        self.agreement = Agreement()
        self.name = chat.name
        self._model = chat
        self._chat = CountedChat(chat)
        self._lock = threading.Lock()
        prompt = resources.files("tracerank.evaluation").joinpath("assets", "judge.txt")
        self._prompt = prompt.read_text(encoding="utf-8").strip()

    def in_order(self, label: Callable[[Pool], Pool], pools: Iterable[Pool]) -> Iterator[Pool]:
        """The pools as they are labelled, several of them under way."""
        stop = threading.Event()
        self._chat = CountedChat(self._model, stop)
        return in_order(label, pools, self.concurrency, stop)

    def scores(self, question: str, answers: Sequence[str], references: Sequence[str]) -> list[float | None]:
        """1 for each answer that is right, else 0; None: asking about it failed."""
        open_answers = [answer for answer in answers if not exact_match(answer, references)]
        found = all_of(tried(partial(self.verdict, question, references)), open_answers, self.concurrency)
        labels: dict[str, float | None] = {}
        with self._lock:
            self.exact += len(answers) - len(open_answers)
            for answer, verdict in zip(open_answers, found, strict=True):
                if isinstance(verdict, ChatError):
                    labels[answer] = None
                    self.failed.append(str(verdict))
                    continue
                is_correct = verdict is Verdict.CORRECT
                labels[answer] = float(is_correct)
                self.judged[verdict] += 1
                self.agreement.add(is_correct, is_right(question, answer, references))
        return [labels.get(answer, 1.0) for answer in answers]

    def verdict(self, question: str, references: Sequence[str], answer: str) -> Verdict:
        """Ask the model about one answer."""
        prompt = self._prompt.format(
            question=quoted(question),
            references=quoted(list(dict.fromkeys(references))[:MAX_REFERENCES]),
            answer=quoted(cut_words(answer, PROMPT_WORDS)),
        )

        def read(reply: ChatReply) -> Verdict | None:
            return verdict_by_rule(reply, question, references)

        wanted = f"the short answer and one of {', '.join(Verdict)}"
        return strict_reply(self._chat, prompt, Sampling(VERDICT_TOKENS, seed=0), read, wanted)

    def record(self) -> dict[str, Any]:
        """Counts, as JSON has them; agreement is over the answers that the judge was asked about."""
        return {
            "model": self.name,
            "verdicts": {str(verdict): self.judged[verdict] for verdict in Verdict},
            "exact_matches_not_asked": self.exact,
            "failed": len(self.failed),
            "agreement_with_meaning": self.agreement.record(),
        }

    @property
    def sentence(self) -> str:
        """Verdicts and agreement in a line."""
        verdicts = ", ".join(f"{self.judged[verdict]:,} {verdict.lower().replace('_', ' ')}" for verdict in Verdict)
        failed = f"; {len(self.failed):,} could not be judged ({self.failed[0]})" if self.failed else ""
        return (
            f"judge: {verdicts}; {self.exact:,} exact matches were not asked about; "
            f"{self.agreement.sentence('judge', 'rule')}{failed}"
        )


def verdict_by_rule(reply: ChatReply, question: str, references: Sequence[str]) -> Verdict | None:
    """Correct where the short answer means a reference, else the model's verdict; None: the reply has neither."""
    short = short_answer(reply)
    return Verdict.CORRECT if short and is_right(question, short, references) else verdict_in(reply)


def short_answer(reply: ChatReply) -> str:
    """What the line with that label says; empty: there is none, or it is cut off or our own."""
    found = _SHORT.search(reply.spoken)
    if found is None or _COPIED.match(found[1]) or (reply.is_cut and found.end() == len(reply.spoken)):
        return ""
    text = found[1].strip().rstrip("*_ ")
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text


def verdict_in(reply: ChatReply) -> Verdict | None:
    """The last verdict outside the reasoning; None: there is none, or the reply was cut before it."""
    text = reply.spoken
    found = list(_VERDICT.finditer(text))
    if not found or (reply.is_cut and text[: found[-1].start()].strip()):
        return None
    word = (found[-1][1] or found[-1][2]).upper().replace(" ", "_")
    return Verdict.INCORRECT if word == "NOT_CORRECT" else Verdict(word)


def judge_at(address: str) -> AnswerJudge:
    """The judge behind ``URL#MODEL``, with cached replies."""
    from tracerank.endpoints.chat_cache import CachedChat
    from tracerank.endpoints.chat_http import HttpChat, chat_config

    if not address.strip():
        raise UsageError("a judge needs a chat server and its model's name: --labels judge:URL#MODEL")
    return AnswerJudge(CachedChat(HttpChat(chat_config(address)), default_reply_folder()))
