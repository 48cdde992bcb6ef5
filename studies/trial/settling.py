"""What settles pools by asking the model: the vote beside, aggregators, verifier, asked confidence, and a judge.

The pools are the trial's own rollouts, those of the two styles that rank passages together. Replies are kept, so that
a trial which was interrupted asks nothing twice. A row counts questions; that of the judge counts answers.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from studies.trial.rollouts import SILENCE
from studies.trial.server import NAME
from studies.trial.steps import Row, Step, Trial
from tracerank.answers.meaning.rightness import is_right
from tracerank.chat.aggagent import AggAgent
from tracerank.chat.asked_confidence import AskedConfidence
from tracerank.chat.solagg import SolAgg, SummAgg
from tracerank.chat.verifier import Verifier
from tracerank.endpoints.chat import ChatModel
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.evaluation.judging import ROOM, AnswerJudge
from tracerank.pools.pool import Pool
from tracerank.votes.base import ASKED_AGAIN, FORCED, MISSES, NO_ANSWER, Decision, Method
from tracerank.votes.voting import MajorityVote
from tracerank.votes.weighted import WeightedVote

CONTEXT = 4096
"""Tokens that prompts and replies are kept within: a machine without a GPU reads ten a second."""
POOLED = ("tags", "tools")
"""Styles whose rollouts make one pool: both see ranked passages."""

_METHODS: dict[str, Callable[[ChatModel], Method]] = {
    "vote": lambda chat: MajorityVote(),
    "solagg": lambda chat: SolAgg(chat, SolAgg.room.within(CONTEXT), concurrency=1),
    "summagg": lambda chat: SummAgg(chat, SummAgg.room.within(CONTEXT), concurrency=1),
    "aggagent": lambda chat: AggAgent(chat, AggAgent.room.within(CONTEXT), concurrency=1),
    "verifier": lambda chat: Verifier(chat, Verifier.room.within(CONTEXT), concurrency=1),
    "confidence": lambda chat: WeightedVote(
        [AskedConfidence(chat, AskedConfidence.room.within(CONTEXT))], kind="weighted-asked"
    ),
}


def pools(trial: Trial) -> Iterator[Pool]:
    """One of each question, of the rollouts that can be chosen from."""
    of_question: dict[str, list[Pool]] = {}
    for style in POOLED:
        for question, rollout in trial.rollouts(style).rollouts:
            of_question.setdefault(question.id, []).append(Pool(question, (rollout,)))
    for parts in of_question.values():
        rollouts = [rollout for part in parts for rollout in part.rollouts]
        yield Pool(parts[0].question, tuple(replace(one, sample_id=place) for place, one in enumerate(rollouts)))


def asked_model(trial: Trial) -> CachedChat:
    """The model, its replies kept in the trial's folder."""
    config = ChatConfig(trial.address, NAME, timeout=10 * SILENCE)
    return CachedChat(HttpChat(config), trial.folder / "replies")


def settling_step(name: str) -> Step:
    """One method on every pool."""

    def step(trial: Trial) -> Row:
        method = _METHODS[name](asked_model(trial))
        began, decisions = time.monotonic(), []
        for pool in pools(trial):
            decisions.append((pool, method.decide(pool)))
            print(f"{name} {len(decisions)} of {len(trial.questions)}: {decisions[-1][1].answer!r}", flush=True)
        seconds = (time.monotonic() - began) / len(decisions)
        return _row(name, decisions, seconds)

    return step


def _row(name: str, decisions: list[tuple[Pool, Decision]], seconds: float) -> Row:
    made = [decision for _, decision in decisions]
    written = [one.usage.completion_tokens for one in made if one.usage is not None]
    asks = name != "vote"
    return Row(
        name,
        len(made),
        None,
        sum(one.answer is not None and NO_ANSWER not in one.counts and one.problem is None for one in made),
        sum(one.counts.get(MISSES, 0) + one.counts.get(ASKED_AGAIN, 0) for one in made) if asks else None,
        sum(FORCED in one.counts for one in made) if name == "aggagent" else None,
        sum(written) / len(made) if written else None,
        seconds,
        sum(is_right(pool.question.text, one.answer, pool.question.references) for pool, one in decisions),
    )


def judge_step(trial: Trial) -> Row:
    """Labels of every answer that is no exact match; right is, where the judge says what our rule says."""
    judge = AnswerJudge(asked_model(trial), ROOM.within(CONTEXT), concurrency=1)
    began = time.monotonic()
    for pool in pools(trial):
        answers = list(dict.fromkeys(one.answer for one in pool.rollouts if one.answer))
        judge.scores(pool.question.text, answers, pool.question.references)
    found, asked = judge.record()["agreement_with_meaning"], judge.judged.total()
    agreed = found["total"] - found["one_right"] - found["other_right"]
    failed = len(judge.failed)
    seconds = (time.monotonic() - began) / max(1, asked + failed)
    return Row("judge", asked + failed, None, asked, failed, None, None, seconds, agreed)


SETTLING: dict[str, Step] = {**{name: settling_step(name) for name in _METHODS}, "judge": judge_step}
"""In the order of the table."""
