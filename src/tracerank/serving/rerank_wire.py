"""Ranking in the shapes of other people's services: Cohere's (both versions), vLLM's, Infinity's and TEI's.

All take a query and what is to be ranked; they differ in the names of fields and in how a document comes back.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tracerank.pools.pool import Pool
from tracerank.serving.limits import ServiceLimits
from tracerank.serving.wire import RolloutRecord, SelectRequest, UnreadableRequest
from tracerank.votes.base import Decision

RankedRecords = Annotated[list[str | RolloutRecord] | None, Field(min_length=1, max_length=ServiceLimits.rollouts)]


class RerankRequest(BaseModel):
    """Rollouts to order, in the shape of Cohere's rerank (``documents``) or of TEI's (``texts``)."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"query": "Capital of France?", "documents": ["Paris", "Rome", "paris"], "top_n": 2}]
        },
    )
    query: str
    documents: RankedRecords = None
    texts: RankedRecords = None
    top_n: Annotated[int | None, Field(ge=1)] = None
    model: str | None = None
    return_documents: Annotated[
        bool | None, Field(description="Whether results hold what was ranked: a text as it is, a rollout's answer.")
    ] = None
    return_text: Annotated[bool | None, Field(description="The same in TEI's shape.")] = None
    raw_scores: Annotated[bool | None, Field(description="In TEI's shape: the method's scores, not shares.")] = None

    @property
    def given(self) -> list[str | dict[str, Any]]:
        """What is to be ranked, under either name."""
        given = self.documents if self.documents is not None else self.texts
        if given is None:
            raise UnreadableRequest("expected 'documents' (or 'texts'): the rollouts or answers to rank")
        return given


class RankedDocument(BaseModel):
    """What was ranked, in few words."""

    text: str


class RankedRollout(BaseModel):
    """One rollout and how it fares; the shares of all rollouts add up to one."""

    index: int
    relevance_score: float
    score: float
    document: RankedDocument | str | None = None


class RerankReply(BaseModel):
    """The rollouts, best first; those that cannot be chosen come last with a share of 0."""

    id: str
    results: list[RankedRollout]


class RankedText(BaseModel):
    """One rollout as TEI tells it."""

    index: int
    score: float
    text: str | None = None


def rollouts_to_rank(request: RerankRequest) -> SelectRequest:
    """The documents as rollouts, numbered by their places; a bare string is an answer."""
    records = [{"answer": item} if isinstance(item, str) else _unnested(item) for item in request.given]
    numbered = [{**record, "sample_id": place} for place, record in enumerate(records)]
    return SelectRequest(question=request.query, rollouts=numbered)


def _unnested(item: dict[str, Any]) -> dict[str, Any]:
    """Cohere's form of a document, an object with a text, is an answer."""
    return {"answer": item["text"]} if set(item) <= {"text", "id"} and isinstance(item.get("text"), str) else item


def rerank_reply(request: RerankRequest, pool: Pool, decision: Decision, is_text: bool = False) -> RerankReply:
    """All places in the order of their scores, the chosen one first.

    ``is_text``: a document comes back as a text, as Infinity has it, not as an object with one.
    """
    shares = _shares(decision.scores)
    places = range(len(request.given))
    order = sorted(places, key=lambda at: (at != decision.sample_id, -decision.scores.get(at, -math.inf), at))
    kept = _texts(request, pool) if request.return_documents or request.return_text else {}
    ranked = [
        RankedRollout(
            index=place,
            relevance_score=shares.get(place, 0.0),
            score=decision.scores.get(place, 0.0),
            document=None if place not in kept else kept[place] if is_text else RankedDocument(text=kept[place]),
        )
        for place in order
    ]
    return RerankReply(id=decision.question_id, results=ranked[: request.top_n])


def tei_reply(request: RerankRequest, pool: Pool, decision: Decision) -> list[RankedText]:
    """The same as TEI tells it: a list of places and scores, and texts if they are wanted."""
    return [
        RankedText(
            index=one.index,
            score=one.score if request.raw_scores else one.relevance_score,
            text=one.document if isinstance(one.document, str) else None,
        )
        for one in rerank_reply(request, pool, decision, is_text=True).results
    ]


def _texts(request: RerankRequest, pool: Pool) -> dict[int, str]:
    """Each place to what stood there; of a rollout the answer that was read in it."""
    read = {rollout.sample_id: rollout.answer or "" for rollout in pool.rollouts}
    return {place: item if isinstance(item, str) else read.get(place, "") for place, item in enumerate(request.given)}


def _shares(scores: Mapping[int, float]) -> dict[int, float]:
    """Softmax: order is the method's, and the values lie between 0 and 1 whatever its scale."""
    if not scores:
        return {}
    highest = max(scores.values())
    weights = {place: math.exp(score - highest) for place, score in scores.items()}
    total = sum(weights.values())
    return {place: weight / total for place, weight in weights.items()}
