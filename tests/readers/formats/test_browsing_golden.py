"""The browsing reader and document linking against every fact that the official implementation produced."""

import hashlib
import json
from collections import defaultdict
from typing import Any

import pytest

from tests.golden import GOLDEN, needs_golden, unit_facts
from tracerank.answers.exact import normalize_answer
from tracerank.pools.documents import fallback_key
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, RETENTION_RULES, Evidence, Question, Retained, Rollout
from tracerank.pools.urls import OFFICIAL
from tracerank.readers.browser.headers import after_cursor, page_header
from tracerank.readers.formats.browsing import BrowsingReader

K = 16
FIRST_SEED = 42
LISTS = (
    "candidate_embedded_answer",
    "candidate_correct",
    "candidate_vote_count",
    "subqueries",
    "evidence",
    "tool_event_provenance",
)

pytestmark = needs_golden


@pytest.fixture(scope="module")
def pools() -> dict[int, Pool]:
    reader = BrowsingReader()
    questions: dict[str, Question] = {}
    rollouts: dict[str, list[Rollout]] = defaultdict(list)
    with (GOLDEN / "browsing_raw.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            record = json.loads(line)
            parsed = reader.parse(record, f"browsing_raw.jsonl:{number}")
            assert parsed.is_numbered
            questions[parsed.question.id] = parsed.question
            rollouts[parsed.question.id].append(parsed.rollout)
    return {int(key): Pool.of(questions[key], rollouts[key]).first(K) for key in rollouts}


@pytest.fixture(scope="module")
def expected() -> dict[int, dict[str, Any]]:
    facts = json.loads((GOLDEN / "browsing_expected.json").read_text(encoding="utf-8"))
    nothing: dict[str, Any] = {name: [] for name in LISTS}
    # The one question without candidates has none of the lists.
    return {question["qid"]: {**nothing, "distinct_documents": 0, **question} for question in facts["questions"]}


QIDS = range(1000, 1020)


def retained(pool: Pool) -> Retained:
    return pool.retained(RETENTION_RULES[BROWSING], OFFICIAL)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def subquery_id(event: int | None, is_orphan: bool) -> str:
    return f"{'orphan' if is_orphan else 'search'}:{event}"


def all_evidence(kept: tuple[Rollout, ...]) -> list[tuple[Rollout, str, Evidence]]:
    """Evidence of all rollouts in the reference's order: by rollout, then by event."""
    return [
        (rollout, subquery, seen)
        for rollout in kept
        for subquery, seen in sorted(
            (
                (subquery_id(search.event, search.is_orphan), seen)
                for search in rollout.searches
                for seen in search.evidence
            ),
            key=lambda pair: pair[1].event or 0,
        )
    ]


def test_every_golden_question_is_read(pools: dict[int, Pool], expected: dict[int, Any]) -> None:
    assert sorted(pools) == sorted(expected) == list(QIDS)


@pytest.mark.parametrize("qid", QIDS)
def test_the_same_rollouts_are_retained_with_the_same_answers_and_labels(
    qid: int, pools: dict[int, Pool], expected: dict[int, Any]
) -> None:
    kept, fact = retained(pools[qid]), expected[qid]
    assert [rollout.sample_id for rollout in kept.kept] == fact["retained_sample_ids"]
    assert sha256(pools[qid].question.text) == fact["question_text_sha256"]
    assert [rollout.answer for rollout in kept.kept] == fact["candidate_embedded_answer"]
    assert [rollout.label for rollout in kept.kept] == [float(label) for label in fact["candidate_correct"]]
    keys = [normalize_answer(rollout.answer) for rollout in kept.kept]
    assert [keys.count(key) for key in keys] == fact["candidate_vote_count"]
    assert {rollout.setting for rollout in kept.kept} <= {BROWSING}


@pytest.mark.parametrize("qid", QIDS)
def test_the_same_searches_are_found(qid: int, pools: dict[int, Pool], expected: dict[int, Any]) -> None:
    found = [
        {
            "sample_id": rollout.sample_id,
            "subquery_id": subquery_id(search.event, search.is_orphan),
            "is_orphan": search.is_orphan,
            "text_sha256": sha256(search.query) if search.query else None,
        }
        for rollout in retained(pools[qid]).kept
        for search in rollout.searches
    ]
    assert found == expected[qid]["subqueries"]


@pytest.mark.parametrize("qid", QIDS)
def test_the_same_evidence_shares_the_same_documents(
    qid: int, pools: dict[int, Pool], expected: dict[int, Any]
) -> None:
    kept = retained(pools[qid]).kept
    views = {(rollout.sample_id, view.event): view for rollout in kept for view in rollout.views}
    groups: dict[str, int] = {}
    found = []
    for rollout, subquery, seen in all_evidence(kept):
        assert seen.event is not None
        assert seen.document is not None
        group = fallback_key(views[rollout.sample_id, seen.event], rollout.sample_id, OFFICIAL)
        index = groups.setdefault(group, len(groups))
        if seen.document.verified:
            key = seen.document.key
            if key.startswith("search-view:"):
                _, sample, event = key.split(":")
                key = f"search-view:frames:{qid}:{int(sample) + FIRST_SEED}:{event}"
        else:
            assert seen.document.key == group
            key = f"unresolved_original:{qid}:{index}"
        found.append(
            {
                "sample_id": rollout.sample_id,
                "event_id": seen.event,
                "tool": seen.tool,
                "subquery_id": subquery,
                "text_sha256": sha256(seen.text),
                "document": key,
                "verified": seen.document.verified,
                "status": seen.status,
                "local_doc_index": index,
            }
        )
    assert found == expected[qid]["evidence"]
    assert len({row["document"] for row in found}) == expected[qid]["distinct_documents"]


@pytest.mark.parametrize("qid", QIDS)
def test_every_event_has_the_same_parent_cursor_and_validity(
    qid: int, pools: dict[int, Pool], expected: dict[int, Any]
) -> None:
    found = [
        {
            "sample_id": rollout.sample_id,
            "events": [[view.event, view.tool, view.parent, view.cursor, view.is_valid] for view in rollout.views],
        }
        for rollout in retained(pools[qid]).kept
    ]
    assert found == expected[qid]["tool_event_provenance"]


def test_page_headers_are_read_as_the_official_parser_does() -> None:
    for fact in unit_facts("page_identity"):
        header = page_header(fact["input"][after_cursor(fact["input"]) :])
        assert {
            "view_type": header.kind,
            "url": header.url,
            "displayed_url": header.displayed,
            "field_verified": header.url_field_agrees,
            "status": header.status,
            "doc_id": header.number,
        } == fact["output"]
