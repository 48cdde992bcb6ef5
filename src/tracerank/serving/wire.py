"""What clients send and get: JSON bodies, and their way into a pool and out of a decision.

Ranking, in the shapes of other people's services, is in `rerank_wire.py`.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tracerank.errors import ReadError, UsageError
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.readers.one_pool import pool_of_rollouts
from tracerank.serving.limits import ServiceLimits
from tracerank.votes.base import Decision, decision_to_record, with_evidence_note
from tracerank.votes.explanation import ExplainedRollout, Explanation

EXPLAINED_TEXTS = 5
"""Texts that an explanation shows of a candidate."""

RolloutRecord = Annotated[
    dict[str, Any],
    Field(
        description="A rollout in the canonical form (answer, searches with query and evidence) or in any format that "
        "tracerank reads, such as chat messages; docs/file-formats.md lists them."
    ),
]
Given = Annotated[str, Field(description="An answer without searches.")] | RolloutRecord


class UnreadableRequest(Exception):
    """A request out of which no pool can be made."""


class SelectRequest(BaseModel):
    """One question and its rollouts."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "question": "Who wrote the first program?",
                    "rollouts": [
                        {
                            "answer": "Ada Lovelace",
                            "searches": [
                                {"query": "first program", "evidence": [{"text": "Ada Lovelace wrote it.", "rank": 1}]}
                            ],
                        },
                        {"answer": "Charles Babbage", "searches": []},
                    ],
                }
            ]
        },
    )
    question: Annotated[str | None, Field(description="May be left out when the rollouts say it.")] = None
    question_id: str | None = None
    rollouts: Annotated[
        Sequence[Given] | None,
        Field(min_length=1, max_length=ServiceLimits.rollouts, description="Rollouts or answers."),
    ] = None
    answers: Annotated[
        list[str | None] | None,
        Field(min_length=1, max_length=ServiceLimits.rollouts, description="In the place of rollouts: answers alone."),
    ] = None
    k: Annotated[int | None, Field(ge=1, le=ServiceLimits.rollouts, description="Use the first K rollouts only.")] = (
        None
    )
    reader: Annotated[str, Field(description="Name of the format; auto recognises it.")] = AUTO
    map: Annotated[
        dict[str, str] | None,
        Field(description="Fields of the rollouts under other names: our name to theirs, dots lead inside."),
    ] = None


class UsageReply(BaseModel):
    """Tokens that deciding cost, and in how many requests to a model."""

    prompt_tokens: int
    completion_tokens: int
    calls: int


class EscalationReply(BaseModel):
    """Another method was asked, because the first was unsure."""

    method: Annotated[str, Field(description="Who was asked.")]
    why: str
    below: Annotated[float, Field(description="The confidence below which it is asked.")]
    outcome: Annotated[str, Field(description="'changed', 'confirmed', or 'kept': it settled nothing.")]
    answer: Annotated[str | None, Field(description="What the first method returned.")]
    sample_id: int | None
    confidence: float | None
    usage: Annotated[UsageReply | None, Field(description="What the other method alone cost.")]
    problem: Annotated[str | None, Field(description="Why the other method failed; null: it did not.")]


class SelectReply(BaseModel):
    """What ``tracerank select`` writes on a line, and what could not be read as it stood."""

    question_id: str
    question: str
    answer: Annotated[str | None, Field(description="null: no rollout can be chosen.")]
    sample_id: int | None
    scores: dict[str, float]
    dropped: dict[str, str]
    group: list[int]
    confidence: float | None
    usage: Annotated[UsageReply | None, Field(description="null: no model was asked, or nobody counted.")]
    note: str | None
    problems: list[str]
    escalated: Annotated[EscalationReply | None, Field(description="null: no other method was asked.")] = None
    missing: Annotated[
        dict[str, Any] | None,
        Field(description="What evidence would settle it, of escalated decisions: unsupported, unasked, repeated."),
    ] = None


class WeighedEvidence(BaseModel):
    """A text that the answer rests on."""

    text: str
    title: str | None
    url: str | None
    query: Annotated[str | None, Field(description="The search that led to it; null: unknown.")]
    weight: Annotated[float | None, Field(description="Share of the answer's attention; null: the method has none.")]
    same_text: Annotated[int, Field(description="How many other candidate rollouts saw the same text.")]
    same_document: Annotated[int, Field(description="How many other candidate rollouts saw the same document.")]


class ExplainedCandidate(BaseModel):
    """One candidate, its score and the evidence that counts most for it."""

    sample_id: int
    answer: str
    score: float | None
    searches: int
    evidence: list[WeighedEvidence]


class ReasonReply(BaseModel):
    """In one respect, the chosen answer beside the best other one; a negative gain spoke against it."""

    name: str
    meaning: str
    gain: float


class ExplainReply(BaseModel):
    """A decision and its candidates, best first, with what spoke for each."""

    decision: SelectReply
    has_weights: Annotated[bool, Field(description="false: the method weighs no evidence; order is by sharing.")]
    weights_are: Annotated[str, Field(description="'attention' of the answer, or 'support': texts that hold it.")]
    reasons: Annotated[list[ReasonReply], Field(description="What set the choice apart, as far as the method tells.")]
    candidates: list[ExplainedCandidate]


class HealthReply(BaseModel):
    """Whether requests are answered, and by what."""

    status: Literal["ok"]
    method: str
    waiting: int
    version: str


class ErrorReply(BaseModel):
    """What went wrong and what to do."""

    detail: str


def pool_of(request: SelectRequest) -> tuple[Pool, list[str]]:
    """The pool in a request and what could not be read as it stood."""
    if (request.rollouts is None) == (request.answers is None):
        raise UnreadableRequest("expected 'rollouts' or 'answers': a list of what is to be chosen from")
    given = request.rollouts or ["" if answer is None else answer for answer in request.answers or ()]
    try:
        pool, problems = pool_of_rollouts(request.question, given, request.question_id, request.reader, request.map)
    except (ReadError, UsageError) as error:
        raise UnreadableRequest(str(error)) from None
    return pool if request.k is None else pool.first(request.k), [str(problem) for problem in problems]


def select_reply(pool: Pool, decision: Decision, problems: Sequence[str]) -> SelectReply:
    """The decision as a client gets it."""
    return SelectReply(**decision_to_record(pool.question, with_evidence_note(pool, decision)), problems=list(problems))


def explain_reply(pool: Pool, explanation: Explanation, problems: Sequence[str]) -> ExplainReply:
    """The explanation as a client gets it; each candidate with the few texts that count most."""
    chosen = explanation.decision.sample_id
    ordered = sorted(
        explanation.rollouts,
        key=lambda each: (each.rollout.sample_id != chosen, -(each.score or 0.0), each.rollout.sample_id),
    )
    return ExplainReply(
        decision=select_reply(pool, explanation.decision, problems),
        has_weights=explanation.has_weights,
        weights_are=explanation.weights_are,
        reasons=[ReasonReply(**asdict(reason)) for reason in explanation.reasons],
        candidates=[_candidate(each) for each in ordered],
    )


def _candidate(each: ExplainedRollout) -> ExplainedCandidate:
    searches = each.rollout.searches
    return ExplainedCandidate(
        sample_id=each.rollout.sample_id,
        answer=each.rollout.answer or "",
        score=each.score,
        searches=len(searches),
        evidence=[
            WeighedEvidence(
                text=seen.evidence.text,
                title=seen.evidence.title,
                url=seen.evidence.url,
                query=searches[seen.search].query,
                weight=seen.weight,
                same_text=seen.same_text,
                same_document=seen.same_document,
            )
            for seen in each.strongest(EXPLAINED_TEXTS)
        ],
    )
