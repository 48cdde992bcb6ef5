"""The generated world: repeatable, shaped like the paper's Base pools, and with a signal that can be learned."""

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from statistics import mean

import pytest

from tracerank.answers.exact import exact_match, normalize_answer, normalize_text
from tracerank.embedding.base import HashEmbedder
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA, Evidence, Rollout
from tracerank.rollouts.wording import RELATIONS, invented_answer
from tracerank.rollouts.world import ErrorModel, generate_pools

SRC = Path(__file__).parents[2] / "src"


@cache
def world() -> tuple[Pool, ...]:
    return tuple(generate_pools(600, seed=11))


def evidence(rollout: Rollout) -> list[Evidence]:
    return [found for search in rollout.searches for found in search.evidence]


def states(found: Evidence, answer: str) -> bool:
    return f" {answer}" in found.text


def majority_label(pool: Pool) -> float:
    retained = pool.retained()
    votes = [candidate.votes for candidate in retained.candidates()]
    return retained.kept[votes.index(max(votes))].label or 0.0 if votes else 0.0


def test_the_same_seed_gives_the_same_world() -> None:
    assert generate_pools(20, seed=3) == generate_pools(20, seed=3)


def test_another_seed_gives_other_questions() -> None:
    first, second = generate_pools(20, seed=3), generate_pools(20, seed=4)
    assert not {pool.question.text for pool in first} & {pool.question.text for pool in second}
    assert not {pool.question.id for pool in first} & {pool.question.id for pool in second}


def test_fewer_questions_or_rollouts_are_a_prefix_of_the_same_world() -> None:
    few, many = generate_pools(3, seed=3, k=4), generate_pools(9, seed=3, k=16)
    assert few == [pool.first(4) for pool in many[:3]]


def test_the_world_does_not_depend_on_the_process() -> None:
    script = "from tracerank.rollouts.world import generate_pools; print(generate_pools(2, seed=5))"
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(generate_pools(2, seed=5))


def test_questions_are_distinct_and_have_one_reference() -> None:
    pools = world()
    assert len({pool.question.text for pool in pools}) == len({pool.question.id for pool in pools}) == len(pools)
    assert all(len(pool.question.references) == 1 and len(pool) == 16 for pool in pools)
    assert {pool.setting for pool in pools} == {WEBQA}


def test_every_search_with_a_return_shows_three_distinct_ranked_chunks() -> None:
    for pool in world():
        for rollout in pool.rollouts:
            assert len(rollout.searches) <= 3
            for search in rollout.searches:
                assert search.query
                assert [found.rank for found in search.evidence] in ([], [1, 2, 3])
                assert len({found.text for found in search.evidence}) == len(search.evidence)


def test_a_chunk_keeps_its_title_and_is_already_normalised() -> None:
    for found in evidence(world()[0].retained().kept[0]):
        assert found.text.startswith(f'(Title: "{found.title}") ')
        assert normalize_text(found.text) == found.text
        assert "{" not in found.text


def test_labels_are_exact_matches() -> None:
    for pool in world():
        for rollout in pool.rollouts:
            assert rollout.label == exact_match(rollout.answer, pool.question.references)


def test_single_majority_and_oracle_accuracy_leave_room_for_a_selector() -> None:
    pools = world()
    assert mean(pool.rollouts[0].label or 0.0 for pool in pools) == pytest.approx(0.35, abs=0.05)
    assert mean(majority_label(pool) for pool in pools) == pytest.approx(0.48, abs=0.05)
    oracle = [any(rollout.label for rollout in pool.retained().kept) for pool in pools]
    assert mean(oracle) == pytest.approx(0.90, abs=0.03)


def test_pools_have_the_size_of_the_papers_base_pools() -> None:
    retained = [pool.retained() for pool in world()]
    assert mean(len(pool.kept) for pool in retained) == pytest.approx(12.6, abs=0.4)
    chunks = [sum(len(evidence(rollout)) for rollout in pool.kept) for pool in retained]
    assert mean(chunks) == pytest.approx(60, abs=2)
    reasons = Counter(reason for pool in retained for reason in pool.dropped.values())
    assert all(share > 0.03 * 16 * len(retained) for share in reasons.values())
    assert len(reasons) == 2


def test_some_rollouts_never_search_and_still_answer() -> None:
    idle = [rollout for pool in world() for rollout in pool.rollouts if not rollout.searches]
    assert 0.05 < len(idle) / (16 * len(world())) < 0.11
    assert all(rollout.answer for rollout in idle)


def test_the_right_answer_stands_in_the_evidence_of_rollouts_that_give_it() -> None:
    right = [(pool, rollout) for pool in world() for rollout in pool.retained().kept if rollout.label]
    supported = [
        any(states(found, pool.question.references[0]) for found in evidence(rollout)) for pool, rollout in right
    ]
    assert mean(supported) > 0.99


def test_supporting_chunks_are_met_by_several_rollouts_through_different_queries() -> None:
    rollouts_per_chunk, queries_per_chunk = [], []
    for pool in world():
        if majority_label(pool):
            meetings = [
                (found.text, rollout.sample_id, search.query)
                for rollout in pool.retained().kept
                for search in rollout.searches
                for found in search.evidence
                if states(found, pool.question.references[0])
            ]
            for text in {text for text, _, _ in meetings}:
                rollouts_per_chunk.append(len({sample for met, sample, _ in meetings if met == text}))
                queries_per_chunk.append(len({query for met, _, query in meetings if met == text}))
    assert mean(rollouts_per_chunk) > 3
    assert mean(queries_per_chunk) > 2


def test_a_wrong_plurality_rests_on_more_scattered_chunks_than_a_right_one() -> None:
    rollouts_per_chunk: dict[bool, list[float]] = {True: [], False: []}
    for pool in world():
        retained = pool.retained()
        leader = max(retained.candidates(), key=lambda candidate: candidate.votes)
        answer = leader.answer.rstrip(".")
        members = [r for r in retained.kept if normalize_answer(r.answer) == normalize_answer(answer)]
        chunks = {found.text for rollout in members for found in evidence(rollout) if states(found, answer)}
        is_right = bool(exact_match(answer, pool.question.references))
        rollouts_per_chunk[is_right].append(len(members) / max(len(chunks), 1))
    assert mean(rollouts_per_chunk[True]) > mean(rollouts_per_chunk[False]) + 0.3


def test_hashed_vectors_of_an_answer_are_closest_to_the_chunks_that_state_it() -> None:
    embedder = HashEmbedder()
    stating, other = [], []
    for pool in world()[:50]:
        for rollout in pool.retained().kept:
            answer = (rollout.answer or "").rstrip(".")
            chunks = evidence(rollout)
            vectors = embedder.embed([answer, *(found.text for found in chunks)])
            for found, likeness in zip(chunks, vectors[1:] @ vectors[0], strict=True):
                (stating if states(found, answer) else other).append(float(likeness))
    assert mean(stating) > mean(other) + 0.15


def test_an_error_model_can_be_given() -> None:
    flawless = ErrorModel(
        care=((1.0, 1.0),), careful_finds=1.0, strays=0.0, clips=0.0, no_answer=0.0, no_search=0.0, no_return=0.0
    )
    assert all(rollout.label for pool in generate_pools(5, seed=1, errors=flawless) for rollout in pool.rollouts)


def test_every_relation_can_be_answered_and_an_unknown_kind_is_refused() -> None:
    assert all(invented_answer(Random(0), relation.kind) for relation in RELATIONS)
    with pytest.raises(ValueError, match="unknown kind of answer 'colour'"):
        invented_answer(Random(0), "colour")
