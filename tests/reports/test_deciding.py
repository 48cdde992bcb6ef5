"""Pools of long answers are decided as reports wherever a decision is made; all others as before."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import tracerank as tr
from tests.builders import pool_of, rollout
from tests.reports.texts import EIGHT, NARRATING, PROMPT, SECOND
from tracerank.cli.app import app
from tracerank.errors import UsageError
from tracerank.methods import MethodOptions, load_method, load_selector
from tracerank.reports.deciding import ByLength, has_long_answers, is_long
from tracerank.runs.atomic import whole_file
from tracerank.selecting import Digests
from tracerank.stopping.session import LONG_ANSWERS
from tracerank.votes.base import decide_stream
from tracerank.votes.explanation import explain_stream

[POOL] = tr.read_pools(EIGHT)
REPORTS = [one.answer for one in POOL.rollouts]
SHORT = pool_of(rollout("Paris"), rollout("Rome"), rollout("Paris."), question="short")


@pytest.mark.parametrize(
    ("answer", "long"),
    [
        ("word " * 70, True),
        ("word " * 60, False),
        (f"# Title\n\n{'word ' * 25}\n\n- {'word ' * 20}", True),
        (f"{'word ' * 25}\n\n{'word ' * 20}\n\nThe end.", False),
        ("这座桥于一九四九年建成，横跨奥恩河。" * 10, True),
        ("巴黎", False),
        (json.dumps({f"field {number}": "two words" for number in range(40)}), False),
        (json.dumps({"report": "word " * 70}), True),
    ],
)
def test_an_answer_is_long_by_its_words_or_its_paragraphs(answer: str, *, long: bool) -> None:
    assert is_long(answer.strip()) is long


def test_a_pool_is_long_by_half_of_the_rollouts_that_answer() -> None:
    report = REPORTS[1]
    for answers, expected in (
        ([report, "Paris"], True),
        ([report, "Paris", "Rome"], False),
        ([report, "", NARRATING, NARRATING], True),
        ([report, "I could not find it.", "None"], False),
        (["Paris", "I could not find it."], False),
    ):
        assert has_long_answers(pool_of(*map(rollout, answers))) is expected, answers


def test_long_answers_are_decided_as_reports_without_a_confidence() -> None:
    decision = tr.decide(PROMPT, REPORTS)
    assert (decision.answer, decision.sample_id) == (REPORTS[0], 0)
    assert decision.confidence is None
    assert decision.group == ()
    assert decision.note is not None
    assert decision.note.startswith("long answers (8 of 8)")
    assert "no confidence" in decision.note
    assert decision.dropped == {3: "refusal", 4: "narrates the search", 6: "off topic", 7: "truncated"}
    assert decision.claims is not None


def test_a_stub_is_never_chosen_while_a_report_exists() -> None:
    for answers in ([REPORTS[1], "Here is the report:"], [NARRATING, REPORTS[1], REPORTS[1][:30]]):
        assert tr.decide(PROMPT, answers).answer == REPORTS[1]


def test_short_answers_are_decided_as_before() -> None:
    plain, routed = load_selector(), load_method("evidence")
    assert isinstance(routed, ByLength)
    assert routed.decide(SHORT) == plain.decide(SHORT)
    assert tr.decide("Capital of France?", ["Paris", "Rome", SECOND], method="majority").claims is None


def test_a_stream_of_both_keeps_its_order_and_is_explained() -> None:
    pools = [SHORT, POOL, SHORT, SHORT, POOL]
    method = load_method("evidence")
    decided = list(decide_stream(method, pools))
    assert [decision.claims is not None for _, decision in decided] == [False, True, False, False, True]
    explained = [explanation for _, explanation in explain_stream(method, pools)]
    assert [one.decision for one in explained] == [decision for _, decision in decided]
    assert len(set(explained[1].groups.values())) == len(explained[1].rollouts)


def test_the_length_can_be_set() -> None:
    assert load_method("evidence", MethodOptions(answers="short")).decide(POOL).claims is None
    assert load_method("evidence", MethodOptions(answers="long")).decide(SHORT).claims is not None
    for wrong in ({"method": "majority", "answers": "long"}, {"method": "evidence", "answers": "wide"}):
        with pytest.raises(UsageError, match="answers"):
            load_method(wrong["method"], MethodOptions(answers=wrong["answers"]))


def test_a_rollout_that_could_not_be_read_is_never_chosen() -> None:
    broken = tr.Rollout(8, REPORTS[0] * 2, problem="line 9: not JSON")
    decision = load_method("evidence").decide(tr.Pool.of(POOL.question, (*POOL.rollouts, broken)))
    assert (decision.sample_id, decision.dropped[8]) == (0, "line 9: not JSON")


def test_a_session_and_best_of_choose_reports() -> None:
    session = tr.Session(PROMPT, budget=8)
    for report in REPORTS[5:]:
        session.add(report)
        assert session.should_continue().reason == LONG_ANSWERS
        assert session.chosen == session.decision().sample_id
    assert session.decision() == load_method("evidence").decide(session.pool)
    fixed = tr.Session(PROMPT, rule=tr.FixedK(1))
    fixed.add(REPORTS[0])
    assert not fixed.should_continue()
    answers = iter(REPORTS[:3])
    result = tr.run_best_of(lambda question: next(answers), PROMPT, 3, rule=tr.FixedK(3), parallel=1)
    assert result.decision.claims is not None


def test_the_service_returns_the_table() -> None:
    pytest.importorskip("pydantic")
    from tracerank.serving.wire import SelectRequest, select_reply
    from tracerank.serving.wire import pool_of as request_pool

    pool, problems = request_pool(SelectRequest(question=PROMPT, rollouts=REPORTS))
    reply = select_reply(pool, problems, load_method("evidence").decide(pool))
    assert reply.claims is not None
    assert [report["sample_id"] for report in reply.reports or ()] == list(range(8))


def test_select_writes_the_table_and_a_digest(tmp_path: Path) -> None:
    def select(*given: object) -> str:
        done = CliRunner().invoke(app, ["select", str(EIGHT), *map(str, given)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    printed = select("-o", tmp_path / "out.jsonl", "--claims", tmp_path / "claims.md")
    assert "1 with long answers" in printed
    record = json.loads((tmp_path / "out.jsonl").read_text())
    assert any(claim["contested"] == "12 May 1949 here, May 1942 in #2" for claim in record["claims"])
    digest = (tmp_path / "claims.md").read_text()
    assert digest.count("\n# ") + digest.startswith("# ") == 1


def test_a_resumed_run_compares_the_reports_of_kept_decisions_again(tmp_path: Path) -> None:
    read_again = replace(load_method("evidence").decide(POOL), claims=None)
    with whole_file(tmp_path / "claims.md") as file:
        digests = Digests(file)
        digests.add_kept(POOL, read_again)
        digests.add_kept(SHORT, load_method("evidence").decide(SHORT))
    assert "May 1942" in (tmp_path / "claims.md").read_text()


def test_a_digest_of_short_answers_alone_is_empty(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"question": "Capital?", "answer": "Paris"}) + "\n")
    done = CliRunner().invoke(app, ["select", str(tmp_path / "in.jsonl"), "--claims", str(tmp_path / "c.md")])
    assert done.exit_code == 0
    assert "no question has long answers" in done.output
