"""The report as a page: what it says, what may run in it, and that names are text."""

import base64
import hashlib
import re
from pathlib import Path

import pytest

from tests.evaluation.folders import Confident, Last, asked, folded
from tests.viewer.markup import Elements
from tracerank.evaluation.charts import Axis, Dot, Scale, Series, chart
from tracerank.evaluation.page import content_security_policy
from tracerank.evaluation.report import make_report
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.base import Decision
from tracerank.votes.voting import MajorityVote

SCRIPT = "</style></title><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\"'&{{$title}} \ud800"
POOLS = tuple(asked(f"q{n}", "x" if n % 2 else "y", "x", "y" if n % 3 else "x") for n in range(12))
METHODS = (MajorityVote(), Last())


class Hostile:
    """Takes the first rollout; its name is markup."""

    name = SCRIPT

    def decide(self, pool: Pool) -> Decision:
        return Decision(pool.question.id, pool.rollouts[0].answer, 0, confidence=0.75)


def written(tmp_path: Path, pools=POOLS, methods=METHODS, ks=(1, 2, 3)) -> Path:
    folder = folded(tmp_path / "e", pools, ks=ks, methods=methods)
    make_report([folder]).write(tmp_path / "r")
    return tmp_path / "r"


def page_in(folder: Path) -> bytes:
    return (folder / "index.html").read_bytes()


def test_the_page_holds_every_table_and_a_chart_of_each_kind(tmp_path: Path) -> None:
    page = page_in(written(tmp_path, methods=(MajorityVote(), MajorityVote(DefaultGroups()), Hostile())))
    for table in make_report([tmp_path / "e"]).tables:
        assert f'id="table-{table.name}"'.encode() in page
    words = Elements(page).words
    for said in ("Against majority", "Answering only where", "Brier", "ECE", "All tables"):
        assert said in words
    assert page.count(b'class="interval"') == 3  # the other methods and the single rollout
    make_report([tmp_path / "e"]).write(tmp_path / "again")
    assert page_in(tmp_path / "again") == page


def test_no_script_no_style_in_elements_and_nothing_is_fetched(tmp_path: Path) -> None:
    tags = Elements(page_in(written(tmp_path)))
    digest = base64.b64encode(hashlib.sha256(tags.texts["style"].encode()).digest()).decode()
    assert tags.policy() == content_security_policy()
    assert tags.policy().startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "script" not in {tag for tag, _ in tags.found}
    assert not any(name == "style" or name.startswith("on") for _, attrs in tags.found for name in attrs)
    assert not re.search(rb'(src|href)="(?!#|data:)', page_in(tmp_path / "r"))


def test_hostile_names_of_methods_datasets_and_questions_add_no_element(tmp_path: Path) -> None:
    plain = Elements(page_in(written(tmp_path / "plain", methods=(MajorityVote(), Confident(q1=0.5)))))
    pools = tuple(asked(f"{SCRIPT}{n}", "x" if n % 2 else "y", "x", "y", dataset=SCRIPT) for n in range(12))
    tags = Elements(page_in(written(tmp_path / "hostile", pools, (MajorityVote(), Hostile()))))
    assert {tag for tag, _ in tags.found} <= {tag for tag, _ in plain.found}
    assert "window.hacked=1" in tags.words


def test_one_k_one_method_and_no_baseline_make_a_page_too(tmp_path: Path) -> None:
    assert b"There is no method to compare with" in page_in(written(tmp_path, ks=(2,), methods=[Last()]))


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), (0.3, 0.8, [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]), (-1.2, 1.9, [-1, 0, 1])],
)
def test_ticks_are_round_and_include_both_ends_where_these_are_round(
    low: float, high: float, ticks: list[float]
) -> None:
    assert Scale(low, high).ticks() == pytest.approx(ticks)


def test_values_stand_at_their_share_of_the_axis() -> None:
    unit = Axis("x", Scale(0.0, 2.0), [(1.0, "one")])
    drawn = chart([Series([Dot(0.5, 2.0, "<a>"), Dot(1.0, 0.0, "b")], "s1")], unit, unit)
    assert 'points="25.0,0.0 50.0,100.0"' in drawn
    assert 'cx="25.0%" cy="0.0%" r="4"><title>&lt;a&gt;</title>' in drawn
    assert '<text x="50.0%" y="14" text-anchor="middle">one</text>' in drawn
    assert Scale.around([]).low < 0.0 < 1.0 < Scale.around([]).high
    assert Scale(1.0, 1.0).at(1.0) == 50.0
