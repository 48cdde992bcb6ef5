"""What clients send and get: JSON bodies, and their way into a pool and out of a decision."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from tracerank.endpoints.chat import Usage
from tracerank.errors import ReadError, TraceRankError, UsageError
from tracerank.evidence.gaps import gaps
from tracerank.evidence.model import softmax
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.readers.one_pool import pool_of_rollouts
from tracerank.serving.settings import MAX_ROLLOUTS
from tracerank.votes.base import Decision, decision_to_record, with_evidence_note
from tracerank.votes.explanation import ExplainedRollout, Explanation, Reason

EXPLAINED_TEXTS = 5
"""Texts that an explanation shows of a candidate."""

_QUESTION = "Who wrote the first program?"
_ROLLOUT: Any = {
    "answer": "Ada Lovelace",
    "searches": [{"query": "first program", "evidence": [{"text": "Ada Lovelace wrote it.", "rank": 1}]}],
}


class UnreadableRequest(TraceRankError):
    """A request that holds no pool."""


class EvidenceRecord(BaseModel):
    """One text that a search returned."""

    text: Annotated[str, Field(description="As the agent saw it.")]
    title: Annotated[str | None, Field(description="Title of the document.")] = None
    url: Annotated[str | None, Field(description="Address of the document.")] = None
    rank: Annotated[int | None, Field(description="Position in the list of results; 1 is the first.")] = None


class SearchRecord(BaseModel):
    """One search."""

    query: str | None
    evidence: Annotated[list[EvidenceRecord], Field(description="Texts that came back; may be empty.")]


class RolloutRecord(BaseModel):
    """An answer and the searches that led to it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_ROLLOUT]})
    answer: Annotated[str | None, Field(description="The final answer; null: the agent gave none.")]
    searches: Annotated[list[SearchRecord], Field(description="In their order; [] if there was none.")]


class ChatRecord(BaseModel):
    """The whole conversation with tool calls and what they returned; the last message has the answer."""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, description="As OpenAI's chat API has them.")]


class _Kinds:
    """Describes the usual kinds of items field by field; whatever a reader knows is taken all the same."""

    @classmethod
    def __get_pydantic_json_schema__(cls, _: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        log = Annotated[dict[str, Any], Field(title="Log", description="A record of any other format; see the docs.")]
        answer = Annotated[str, Field(title="Answer", description="An answer alone, without searches.")]
        return handler(TypeAdapter[Any](RolloutRecord | ChatRecord | answer | log).core_schema)


Given = Annotated[str | dict[str, Any], _Kinds]


class SelectRequest(BaseModel):
    """One question and its rollouts."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"question": _QUESTION, "rollouts": [_ROLLOUT, {"answer": "Charles Babbage", "searches": []}]}]
        },
    )
    question: Annotated[str | None, Field(description="May be left out where the rollouts have it.")] = None
    question_id: str | None = None
    rollouts: Annotated[
        Sequence[Given] | None, Field(min_length=1, max_length=MAX_ROLLOUTS, description="Rollouts or answers.")
    ] = None
    answers: Annotated[
        list[str | None] | None,
        Field(min_length=1, max_length=MAX_ROLLOUTS, description="Instead of rollouts: answers alone."),
    ] = None
    k: Annotated[int | None, Field(ge=1, le=MAX_ROLLOUTS, description="Use the first K rollouts only.")] = None
    reader: Annotated[str, Field(description="Name of the format; auto recognises it.")] = AUTO
    map: Annotated[
        dict[str, str] | None,
        Field(description="Fields of the rollouts under other names: our name to theirs; dots lead inside."),
    ] = None


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
    usage: Annotated[Usage | None, Field(description="null: no model was asked, or its tokens are unknown.")]
    note: str | None
    problems: list[str]
    escalated: Annotated[
        dict[str, Any] | None,
        Field(description="The other method, why it was asked, the outcome, and what the first method returned."),
    ] = None
    missing: Annotated[
        dict[str, Any] | None, Field(description="What evidence would settle the question, of escalated decisions.")
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


class ExplainReply(BaseModel):
    """A decision and its candidates, best first, with what spoke for each."""

    decision: SelectReply
    has_weights: Annotated[bool, Field(description="false: the method weighs no evidence; it is ordered by sharing.")]
    weights_are: Annotated[str, Field(description="'attention' of the answer, or 'support': texts that hold it.")]
    reasons: Annotated[tuple[Reason, ...], Field(description="What set the choice apart; empty if unknown.")]
    candidates: list[ExplainedCandidate]


class RerankRequest(BaseModel):
    """Rollouts of one question to order, in the shape of Cohere's rerank (version 2)."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"query": "Capital of France?", "documents": ["Paris", "Rome", "paris"], "top_n": 2}]
        },
    )
    query: str
    documents: Annotated[list[Given], Field(min_length=1, max_length=MAX_ROLLOUTS, description="Rollouts or answers.")]
    top_n: Annotated[int | None, Field(ge=1)] = None

    def selection(self) -> SelectRequest:
        """The same as a choice, each rollout numbered by its index."""
        return SelectRequest(question=self.query, rollouts=numbered(self.documents))


class RankedRollout(BaseModel):
    """One rollout; the relevance scores of all add up to one."""

    index: int
    relevance_score: float
    score: Annotated[float, Field(description="The method's own.")]


class RerankReply(BaseModel):
    """The rollouts, best first; those that cannot be chosen come last with a relevance of 0."""

    id: str
    results: list[RankedRollout]


class HealthReply(BaseModel):
    """Whether requests are answered, and by which method."""

    status: Literal["ok"]
    method: str
    waiting: int
    version: str


class ErrorReply(BaseModel):
    """What went wrong and what to do."""

    detail: str


@dataclass(frozen=True, slots=True)
class GivenPool:
    """The pool of a request."""

    pool: Pool
    problems: list[str]
    """What could not be read as it stood."""


def numbered(items: Sequence[str | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records that keep their index."""
    records = ({"answer": item} if isinstance(item, str) else item for item in items)
    return [{**record, "sample_id": index} for index, record in enumerate(records)]


def pool_of(request: SelectRequest) -> GivenPool:
    """The pool in a request."""
    if (request.rollouts is None) == (request.answers is None):
        raise UnreadableRequest("expected either 'rollouts' or 'answers': a list of what to choose from")
    given = request.rollouts or ["" if answer is None else answer for answer in request.answers or ()]
    try:
        pool, problems = pool_of_rollouts(request.question, given, request.question_id, request.reader, request.map)
    except (ReadError, UsageError) as error:
        raise UnreadableRequest(str(error)) from None
    return GivenPool(pool if request.k is None else pool.first(request.k), [str(problem) for problem in problems])


def select_reply(given: GivenPool, decision: Decision) -> SelectReply:
    """The decision as a client gets it."""
    pool = given.pool
    if decision.escalated is not None and decision.missing is None:
        decision = replace(decision, missing=gaps(pool, decision.escalated.before))
    return SelectReply(**decision_to_record(pool.question, with_evidence_note(pool, decision)), problems=given.problems)


def explain_reply(given: GivenPool, explanation: Explanation) -> ExplainReply:
    """The explanation as a client gets it; each candidate with the few texts that count most."""
    chosen = explanation.decision.sample_id
    ordered = sorted(
        explanation.rollouts,
        key=lambda each: (each.rollout.sample_id != chosen, -(each.score or 0.0), each.rollout.sample_id),
    )
    return ExplainReply(
        decision=select_reply(given, explanation.decision),
        has_weights=explanation.has_weights,
        weights_are=explanation.weights_are,
        reasons=explanation.reasons,
        candidates=[_candidate(each) for each in ordered],
    )


def rerank_reply(request: RerankRequest, decision: Decision) -> RerankReply:
    """All documents in the order of their scores, the chosen one first."""
    values = list(decision.scores.values())
    shares = dict(zip(decision.scores, softmax(np.array(values)).tolist() if values else (), strict=True))
    order = sorted(
        range(len(request.documents)),
        key=lambda index: (index != decision.sample_id, -decision.scores.get(index, -math.inf), index),
    )
    ranked = [
        RankedRollout(index=index, relevance_score=shares.get(index, 0.0), score=decision.scores.get(index, 0.0))
        for index in order
    ]
    return RerankReply(id=decision.question_id, results=ranked[: request.top_n])


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
