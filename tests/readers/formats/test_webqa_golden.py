"""What the official implementation parsed out of 40 WebQA pools, fact by fact."""

import hashlib
import json
from functools import cache
from typing import Any

import pytest

from tests.golden import GOLDEN, needs_golden
from tracerank.answers.exact import exact_match, normalize_answer, token_f1
from tracerank.evaluation.labels import EM, labelled
from tracerank.pools.pool import Pool
from tracerank.readers import Problem, read_pools

RAW = GOLDEN / "webqa_raw.jsonl"
EXPECTED = GOLDEN / "webqa_expected.json"
QUESTIONS = 40

pytestmark = needs_golden


@cache
def expected() -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads(EXPECTED.read_text())["questions"]
    return questions


@cache
def pools() -> dict[str, Pool]:
    problems: list[Problem] = []
    found = {f"nq:{pool.question.id}": pool for pool in read_pools(RAW, on_problem=problems.append)}
    assert problems == []
    return found


def sha256(text: str | None) -> str | None:
    return hashlib.sha256(text.encode()).hexdigest() if text else None


def test_every_question_is_found_once() -> None:
    assert sorted(pools()) == sorted(facts["graph_id"] for facts in expected())
    assert len(pools()) == QUESTIONS


@pytest.mark.parametrize("index", range(QUESTIONS))
def test_a_pool_holds_what_the_official_parser_found(index: int) -> None:
    facts = expected()[index]
    pool = pools()[facts["graph_id"]]
    retained = pool.first(16).retained()
    assert pool.question.text == facts["question"]
    assert [rollout.sample_id for rollout in retained.kept] == facts["retained_sample_ids"]
    assert facts["empty"] == (not retained.kept)
    if facts["empty"]:
        return
    searches = [(rollout.sample_id, search) for rollout in retained.kept for search in rollout.searches]
    assert [(sample, sha256(search.query)) for sample, search in searches] == [
        (fact["sample_id"], fact["text_sha256"]) for fact in facts["subqueries"]
    ]
    assert [
        (place, evidence.rank, sha256(evidence.text))
        for place, (_, search) in enumerate(searches)
        for evidence in search.evidence
    ] == [(fact["subquery"], fact["rank"], fact["text_sha256"]) for fact in facts["evidence"]]


@pytest.mark.parametrize("index", range(QUESTIONS))
def test_candidates_have_the_official_votes_and_scores(index: int) -> None:
    facts = expected()[index]
    pool = pools()[facts["graph_id"]]
    retained = pool.first(16).retained()
    if facts["empty"]:
        assert retained.kept == ()
        return
    keys = [normalize_answer(rollout.answer) for rollout in retained.kept]
    assert [keys.count(key) for key in keys] == facts["candidate_vote_count"]
    firsts: dict[str, str] = {}
    for key, rollout in zip(keys, retained.kept, strict=True):
        firsts.setdefault(key, rollout.answer or "")
    spoken = [firsts[key] for key in keys]
    references = pool.question.references
    assert spoken == facts["candidate_embedded_answer"]
    assert [exact_match(answer, references) for answer in spoken] == facts["candidate_em"]
    assert [token_f1(answer, references) for answer in spoken] == pytest.approx(facts["candidate_f1"])
    labels = [rollout.label for rollout in labelled(pool, EM).first(16).retained().kept]
    assert labels == facts["candidate_em"]
