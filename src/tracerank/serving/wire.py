"""JSON bodies of requests and replies, and how they become pools and are made from decisions."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    TypeAdapter,
)
from pydantic.json_schema import JsonSchemaValue

from tracerank.endpoints.chat import Usage
from tracerank.evidence.model import softmax
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO, detect
from tracerank.readers.one_pool import pool_of_rollouts
from tracerank.serving.settings import MAX_ROLLOUTS
from tracerank.votes.base import Decision, decision_to_record
from tracerank.votes.explanation import ExplainedRollout, Explanation, Reason

EXPLAINED_TEXTS = 5
"""Texts that an explanation shows of a candidate."""

_ROLLOUT: Any = {
    "answer": "Ada Lovelace",
    "searches": [{"query": "first program", "evidence": [{"text": "Ada Lovelace wrote it.", "rank": 1}]}],
}
_SELECT: Any = {"question": "Who wrote the first program?", "rollouts": [_ROLLOUT, "Charles Babbage"]}
_RERANK: Any = {"query": "Capital of France?", "documents": ["Paris", "Rome", "paris"], "top_n": 2}
_MANY = Field(min_length=1, max_length=MAX_ROLLOUTS)


class EvidenceRecord(BaseModel, extra="allow"):
    """One text that a search returned."""

    text: Annotated[str, Field(description="As the agent saw it.")]
    title: Annotated[str | None, Field(description="Title of the document.")] = None
    url: Annotated[str | None, Field(description="Address of the document.")] = None
    rank: Annotated[int | None, Field(description="Position in the list of results; 1 is the first.")] = None


class SearchRecord(BaseModel, extra="allow"):
    """One search."""

    query: str | None
    evidence: Annotated[list[EvidenceRecord], Field(description="Texts that came back; may be empty.")]


class RolloutRecord(BaseModel, extra="allow", json_schema_extra={"examples": [_ROLLOUT]}):
    """An answer and the searches that led to it."""

    answer: Annotated[str | None, Field(description="The final answer; null: the agent gave none.")]
    searches: Annotated[list[SearchRecord], Field(description="In their order; [] if there was none.")]


class ChatRecord(BaseModel, extra="allow"):
    """The whole conversation with tool calls and what they returned; the last message has the answer."""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, description="As OpenAI's chat API has them.")]


def _kind(item: Any) -> str:
    if not isinstance(item, Mapping):
        return "answer"
    return "chat" if "messages" in item else "rollout" if "answer" in item and "schema" not in item else "log"


def _known(log: dict[str, Any]) -> dict[str, Any]:
    if detect(log) is None:
        raise ValueError("expected 'answer' and 'searches', or 'messages'")
    return log


_Log = Annotated[dict[str, Any], AfterValidator(_known)]
_Item = Annotated[
    Annotated[RolloutRecord, Tag("rollout")]
    | Annotated[ChatRecord, Tag("chat")]
    | Annotated[str, Tag("answer"), Field(title="Answer", description="An answer alone, without searches.")]
    | Annotated[_Log, Tag("log"), Field(title="Log", description="A record of any other format.")],
    Discriminator(_kind),
]


class _Described:
    """The kinds of items as the description lists them."""

    @classmethod
    def __get_pydantic_json_schema__(cls, _: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": handler(TypeAdapter[Any](_Item).core_schema)["oneOf"]}


Item = Annotated[_Item, _Described]
"""A rollout whose every field is checked."""
Given = Annotated[str | dict[str, Any], _Described]
"""A rollout in any form that a reader knows."""


def _in_unicode(body: Any) -> Any:
    """Lone surrogates, which pages hold and UTF-8 cannot express, become question marks."""
    if isinstance(body, bytes):  # FastAPI reads no other content type, which any web page may send
        raise ValueError("expected JSON with the header 'content-type: application/json'")
    with suppress(TypeError):
        orjson.dumps(body)
        return body
    try:
        return json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


class SelectRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_SELECT]}):
    """One question and its rollouts."""

    question: Annotated[str | None, Field(description="May be left out where the rollouts have it.")] = None
    question_id: str | None = None
    rollouts: Annotated[Sequence[Given], _MANY, Field(description="Rollouts or answers.")]
    k: Annotated[int | None, Field(ge=1, le=MAX_ROLLOUTS, strict=True, description="The first K rollouts only.")] = None
    reader: Annotated[str, Field(description="Name of the format; auto recognises it.")] = AUTO
    map: Annotated[dict[str, str] | None, Field(description="Our names of fields to theirs; dots lead inside.")] = None


Verdict = Literal["approve", "redo", "reject", "tie", "abstain"]
APPROVED_FROM, REJECTED_BELOW = 0.7, 0.5
"""Of the confidence or else the rank score; of the confidence only, since a rank score is no probability."""


def verdict_on(decision: Decision) -> Verdict:
    """What a router may do with a decision."""
    if decision.answer is None:
        return "abstain"
    chosen = None if decision.sample_id is None else decision.scores.get(decision.sample_id)
    rivals = decision.scores.keys() - {*decision.group} if decision.group else ()
    if any(decision.scores[rival] == chosen for rival in rivals):
        return "tie"
    if decision.confidence is not None and decision.confidence < REJECTED_BELOW:
        return "reject"
    return "approve" if (decision.certainty or 0.0) >= APPROVED_FROM else "redo"


class SelectReply(BaseModel):
    """What ``tracerank select`` writes on a line, a verdict, and what could not be read as it stood."""

    question_id: str
    question: str
    answer: Annotated[str | None, Field(description="null: no rollout can be chosen.")]
    sample_id: int | None
    verdict: Annotated[
        Verdict,
        Field(
            description=f"approve: a confidence, or else a rank score, of {APPROVED_FROM:g} or more; redo: less, so "
            f"more rollouts may help; reject: a confidence below {REJECTED_BELOW:g}; tie: another answer has the same "
            "score; abstain: no rollout can be chosen."
        ),
    ]
    scores: dict[str, float]
    dropped: dict[str, str]
    group: list[int]
    confidence: Annotated[float | None, Field(description="null: without labels of yours there is a rank score only.")]
    basis: str | None
    rank_score: Annotated[float | None, Field(description="Orders answers by how sure they are; no probability.")]
    usage: Annotated[Usage | None, Field(description="null: no model was asked, or its tokens are unknown.")]
    note: str | None
    claims: Annotated[list[dict[str, Any]] | None, Field(description="Of long answers: where each claim stands.")] = (
        None
    )
    lacks: Annotated[list[dict[str, Any]] | None, Field(description="What others say and the answer does not.")] = None
    reports: Annotated[list[dict[str, Any]] | None, Field(description="The long answers that were compared.")] = None
    problems: list[str]


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


class RerankRequest(BaseModel, json_schema_extra={"examples": [_RERANK]}):
    """Rollouts of one question to order, in the shape of Cohere's rerank (version 2)."""

    query: str
    documents: Annotated[list[Given], _MANY, Field(description="Rollouts or answers.")]
    top_n: Annotated[int | None, Field(ge=1, strict=True)] = None

    def selection(self) -> SelectRequest:
        """The same as a choice, each rollout numbered by its index."""
        return SelectRequest(question=self.query, rollouts=numbered(self.documents))


class RankedRollout(BaseModel):
    """One rollout; the relevance scores of all add up to one."""

    index: int
    relevance_score: float


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


SelectBody = Annotated[SelectRequest, BeforeValidator(_in_unicode)]
RerankBody = Annotated[RerankRequest, BeforeValidator(_in_unicode)]


def numbered(items: Sequence[str | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records that keep their index."""
    records = ({"answer": item} if isinstance(item, str) else item for item in items)
    return [{**record, "sample_id": index} for index, record in enumerate(records)]


def pool_of(request: SelectRequest) -> tuple[Pool, list[str]]:
    """The pool in a request, and what could not be read as it stood."""
    found = pool_of_rollouts(request.question, request.rollouts, request.question_id, request.reader, request.map)
    pool, problems = found
    return pool if request.k is None else pool.first(request.k), list(map(str, problems))


def select_reply(pool: Pool, problems: list[str], decision: Decision) -> SelectReply:
    """The decision as a client gets it."""
    record = decision_to_record(pool.question, decision)
    return SelectReply(**record, verdict=verdict_on(decision), problems=problems)


def explain_reply(pool: Pool, problems: list[str], explanation: Explanation) -> ExplainReply:
    """The explanation as a client gets it; each candidate with the few texts that count most."""
    chosen = explanation.decision.sample_id
    ordered = sorted(
        explanation.rollouts,
        key=lambda each: (each.rollout.sample_id != chosen, -(each.score or 0.0), each.rollout.sample_id),
    )
    return ExplainReply(
        decision=select_reply(pool, problems, explanation.decision),
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
    ranked = [RankedRollout(index=index, relevance_score=shares.get(index, 0.0)) for index in order[: request.top_n]]
    return RerankReply(id=decision.question_id, results=ranked)


def _candidate(each: ExplainedRollout) -> ExplainedCandidate:
    rollout = each.rollout
    evidence = [
        WeighedEvidence(**asdict(seen.evidence) | asdict(seen) | {"query": rollout.searches[seen.search].query})
        for seen in each.strongest(EXPLAINED_TEXTS)
    ]
    return ExplainedCandidate(
        sample_id=rollout.sample_id,
        answer=rollout.answer or "",
        score=each.score,
        searches=len(rollout.searches),
        evidence=evidence,
    )
