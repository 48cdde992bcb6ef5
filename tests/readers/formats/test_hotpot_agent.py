"""Evaluation files with queries and predictions, without passages."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import BROWSING
from tracerank.readers import read_pools
from tracerank.readers.base import UnreadableRollout
from tracerank.readers.formats.evaluation_runs import HotpotAgentReader

READER = HotpotAgentReader()


def item(**fields: Any) -> dict[str, Any]:
    return {
        "id": "5ae31eb15542992decbdcddb",
        "question": "Which college?",
        "gold": "Ovidius University",
        "prediction": "University of Cluj",
        "queries_used": ["Who is the singer?", "Where did she study?"],
        "hop1_answer": "Inna",
        "verified": True,
        "em": 0,
        "f1": 0.4,
        "ans_coverage": 1,
        "faithfulness": 1.0,
        "outcome": None,
        **fields,
    }


def test_an_item_becomes_a_rollout_without_evidence() -> None:
    assert READER.recognises(item())
    parsed = READER.parse(item(), "f:1")
    assert (parsed.question.id, parsed.question.references) == ("5ae31eb15542992decbdcddb", ("Ovidius University",))
    one = parsed.rollout
    assert (one.answer, one.label, one.setting, one.confidence) == ("University of Cluj", 0.0, BROWSING, None)
    assert [(search.query, search.evidence) for search in one.searches] == [
        ("Who is the singer?", ()),
        ("Where did she study?", ()),
    ]


def test_metrics_change_nothing_but_the_label() -> None:
    flipped = {"em": 1, "f1": 1.0, "ans_coverage": 0, "faithfulness": 0.0, "outcome": "correct", "verified": False}
    one, other = READER.parse(item(), "f:1").rollout, READER.parse(item(**flipped), "f:1").rollout
    assert (one.label, other.label) == (0.0, 1.0)
    assert (one.answer, one.searches, one.confidence) == (other.answer, other.searches, other.confidence)


def test_files_of_several_agents_make_pools_that_can_vote(tmp_path: Path) -> None:
    paths = []
    for place, answer in enumerate(("Ovidius University", "ovidius university.", "Cluj")):
        paths.append(tmp_path / f"agent{place}.json")
        whole = {"config": {"top_k": 5}, "summary": {"em": 0.5}, "per_item": [item(prediction=answer)]}
        paths[-1].write_text(json.dumps(whole, indent=2))
    (pool,) = read_pools(paths, reader=READER)
    assert [candidate.votes for candidate in pool.retained().candidates()] == [2, 2, 1]


def test_an_item_without_queries_keeps_its_place() -> None:
    with pytest.raises(UnreadableRollout, match="queries_used"):
        READER.parse(item(queries_used="x"), "f:1")
    assert not READER.recognises({"prediction": "x"})
