"""A corpus behind Search-R1's protocol: ``POST /retrieve`` searches, ``GET /health`` is for monitors."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, Field, StrictBool, StrictInt
from starlette.middleware.trustedhost import TrustedHostMiddleware

from tracerank.lab.corpus.base import Passage, Retriever, join_contents
from tracerank.serving.security import BodyLimit

BODY_BYTES = 1 << 20
Query = Annotated[str, Field(max_length=4096)]


class RetrieveRequest(BaseModel):
    """What Search-R1 sends."""

    queries: Annotated[list[Query], Field(min_length=1, max_length=512)]
    topk: Annotated[StrictInt, Field(ge=1, le=100)] = 3
    return_scores: StrictBool = False


def retrieve_app(retriever: Retriever, about: Mapping[str, Any], hosts: Sequence[str] = ()) -> FastAPI:
    """The web application; ``about`` stands in ``/health`` beside the status.

    It answers requests for ``hosts`` only; empty: for any host.
    """
    app = FastAPI(title="tracerank lab corpus serve", docs_url=None, redoc_url=None)
    app.add_middleware(BodyLimit, limit=BODY_BYTES)
    if hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)

    @app.post("/retrieve")
    def retrieve(asked: RetrieveRequest) -> dict[str, Any]:
        found = [[_item(one, asked.return_scores) for one in retriever.search(q, asked.topk)] for q in asked.queries]
        return {"result": found}

    @app.get("/health")
    def health() -> dict[str, Any]:
        return {"status": "ok", **about}

    return app


def _item(passage: Passage, has_score: bool) -> dict[str, Any]:
    """Search-R1's ``id`` and ``contents``, and what a corpus knows beyond that."""
    document = {
        "id": f"{passage.document}#{passage.place}" if passage.place else passage.document,
        "contents": join_contents(passage.title, passage.text),
        "title": passage.title,
        "text": passage.text,
        "url": passage.url,
        "document_id": passage.document,
        "place": passage.place,
    }
    return {"document": document, "score": passage.score} if has_score else document
