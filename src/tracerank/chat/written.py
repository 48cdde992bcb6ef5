"""What comes of asking a model for the answer: found in a reply, asked for once more, or left to the vote, and counted.

The paper counts a reply in which its rule finds nothing as an empty answer. Here the model is asked once more, then
what the reply names is read, then the vote among the same rollouts stands in. Each of these is counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tracerank.answers.exact import normalize_answer
from tracerank.chat.asking import CountedChat, cut_words
from tracerank.chat.prompts import prompt_text
from tracerank.chat.replies import BY_RULE, Found, PaperRule, bare_number, named_in, read_reply
from tracerank.endpoints.chat import ChatMessage, EmptyReply, Sampling, Usage
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained
from tracerank.votes.base import ASKED_AGAIN, LENIENT, NO_ANSWER, Decision
from tracerank.votes.voting import MajorityVote

_REPEATED_WORDS = 150
"""Of a reply that goes back to the model when it is asked again."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote to be read for the answer."""

    found: Found | None
    """None: it gave no answer."""
    reply: str | None = None
    """The reply that was read last, as it came; None: it said nothing."""
    note: str | None = None
    """Why there is no answer, or what else happened."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What happened, in the words of ``votes/base.py``."""


def ask_for_answer(
    chat: CountedChat, prompt: str, sampling: Sampling, kind: str, candidates: Sequence[str], rule: PaperRule
) -> Written:
    """The answer that the model writes; ``candidates``: the answers of the texts that the prompt numbers as a kind."""
    asked = [ChatMessage("user", prompt)]
    said, _ = say(chat, asked, sampling)
    found = read_reply(said, rule, candidates)
    if found is not None:
        return Written(found, said)
    if said:  # a model that said nothing is asked the same again
        choices = "\n".join(f"{kind.capitalize()} {number}" for number in range(1, len(candidates) + 1))
        again = prompt_text("again").format(kind=kind, choices=choices)
        asked += [ChatMessage("assistant", cut_words(said, _REPEATED_WORDS)), ChatMessage("user", again)]
    second, note = say(chat, asked, replace(sampling, seed=None if sampling.seed is None else sampling.seed + 1))
    found = (
        read_reply(second, rule, candidates)
        or bare_number(second, candidates)
        or named_in(second, candidates)
        or named_in(said, candidates)
    )
    return Written(found, second or said or None, note, {ASKED_AGAIN: 1})


def written_decision(pool: Pool, retained: Retained, written: Written, usage: Usage | None) -> Decision:
    """A decision on an answer that a model wrote: it belongs to the rollouts that gave the same one."""
    counts, notes = dict(written.counts), [written.note] if written.note else []
    if written.found is None:
        counts[NO_ANSWER] = 1
        note = f"{NO_ANSWER}: {written.note or 'the reply holds none'}; the vote stands in"
        decided = replace(MajorityVote().decide(Pool(pool.question, retained.kept)), scores={})
    else:
        answer, how = written.found
        if how != BY_RULE:
            counts[LENIENT] = 1
            notes.append(f"{LENIENT}: {how}")
        note = "; ".join(notes)
        key = normalize_answer(answer)
        same = [rollout for rollout in retained.kept if key and normalize_answer(rollout.answer) == key]
        first = next((rollout for rollout in same if rollout.answer == answer), same[0] if same else None)
        group = tuple(rollout.sample_id for rollout in same)
        decided = Decision(pool.question.id, answer, None if first is None else first.sample_id, group=group)
    return replace(
        decided, dropped=retained.dropped, usage=usage, note=note or None, reply=written.reply, counts=counts
    )


def say(chat: CountedChat, messages: Sequence[ChatMessage], sampling: Sampling) -> tuple[str, str | None]:
    """The reply's text, or why it is empty: to say nothing leaves a question unanswered but is no failed call."""
    try:
        return chat.reply(messages, sampling).text, None
    except EmptyReply as error:
        cut = "the model used up its tokens and said nothing"
        return "", cut if error.reply.is_cut else "the model said nothing"
