"""How sure a model was of its answer, by the log probabilities of its tokens."""

from math import exp, fsum, isnan

from tracerank.endpoints.chat import ChatReply

_TAG = "<answer>"


def answer_confidence(reply: ChatReply, answer: str | None) -> float | None:
    """exp of the mean log probability of the tokens that hold a character of the answer.

    The answer is looked for behind the last ``<answer>``, without a tag at its last place in the reply. None: the
    server gives no log probabilities, or the answer does not stand literally in the reply.
    """
    tokens = reply.logprobs or ()
    said = "".join(token.token for token in tokens)
    tag = said.rfind(_TAG)
    start = said.find(answer or "", tag + len(_TAG)) if tag >= 0 else said.rfind(answer or "")
    if not answer or start < 0:
        return None
    held: list[float] = []
    at = 0
    for token in tokens:
        if at < start + len(answer) and at + len(token.token) > start:
            held.append(token.logprob)
        at += len(token.token)
    mean = fsum(held) / len(held)
    return None if isnan(mean) else min(1.0, exp(mean))
