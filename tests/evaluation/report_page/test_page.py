"""The report as a page: what it says, what may run in it, and that names are text."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.evaluation.test_report import PLAN, Last, asked, folded
from tracerank.errors import UsageError
from tracerank.evaluation.report import ReportPlan
from tracerank.evaluation.report_folder import make_report
from tracerank.evaluation.report_page.page import content_security_policy
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.base import Decision
from tracerank.votes.voting import MajorityVote

SCRIPT = "</style></title><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\"'&{{$title}} \ud800"


class Hostile:
    """Takes the first rollout; all that it is called by is markup."""

    name = SCRIPT

    def decide(self, pool: Pool) -> Decision:
        return Decision(pool.question.id, pool.rollouts[0].answer, 0, confidence=0.75)


class Tags(HTMLParser):
    """Elements with their attributes, and the text of the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.style = ""
        self.words = ""
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "style":
            self.style += data
        else:
            self.words += data


POOLS = tuple(asked(f"q{n}", "x" if n % 2 else "y", "x", "y" if n % 3 else "x") for n in range(12))


def page_in(folder: Path) -> str:
    return (folder / "index.html").read_text(encoding="utf-8")


METHODS = (MajorityVote(), Last())


def written(tmp_path: Path, pools=POOLS, methods=METHODS, **options) -> Path:
    folder = folded(tmp_path / "e", pools, ks=(1, 2, 3), methods=methods)
    make_report([folder], PLAN).write(tmp_path / "r", has_plots=False, **options)
    return tmp_path / "r"


def test_the_page_holds_every_table_and_a_chart_of_each_kind(tmp_path: Path) -> None:
    page = page_in(written(tmp_path, methods=(MajorityVote(), Hostile())))
    report = make_report([tmp_path / "e"], PLAN)
    for table in report.tables:
        assert f'id="table-{table.name}"' in page
    words = Tags(page).words
    for said in ("Against majority", "Gain over majority", "Calibration at K=3", "Brier", "ECE", "All tables"):
        assert said in words
    assert page.count('class="interval"') == 2  # the method and the single rollout


def test_no_script_no_style_in_elements_and_nothing_is_fetched(tmp_path: Path) -> None:
    tags = Tags(page_in(written(tmp_path)))
    digest = base64.b64encode(hashlib.sha256(tags.style.encode()).digest()).decode()
    [policy] = [attrs["content"] for _, attrs in tags.found if attrs.get("http-equiv")]
    assert policy == content_security_policy()
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "script" not in {tag for tag, _ in tags.found}
    assert not any(name == "style" or name.startswith("on") for _, attrs in tags.found for name in attrs)
    assert not re.search(r'(src|href)="(?!#|data:)', page_in(tmp_path / "r"))


def test_hostile_names_of_methods_datasets_and_questions_add_no_element(tmp_path: Path) -> None:
    plain = Tags(page_in(written(tmp_path / "plain", methods=(MajorityVote(), Last()))))
    pools = tuple(asked(f"{SCRIPT}{n}", "x" if n % 2 else "y", "x", "y", dataset=SCRIPT) for n in range(12))
    tags = Tags(page_in(written(tmp_path / SCRIPT.split("<")[1][:5], pools, (MajorityVote(), Hostile()))))
    assert {tag for tag, _ in tags.found} <= {tag for tag, _ in plain.found} | {"dl", "dt", "dd"}
    assert "window.hacked=1" in tags.words


def test_methods_that_never_differ_are_one_row_under_both_names(tmp_path: Path) -> None:
    methods = (MajorityVote(), MajorityVote(DefaultGroups()), Last())
    words = Tags(page_in(written(tmp_path, methods=methods))).words
    assert "majority = majority-default" in words


def test_equal_records_give_equal_bytes(tmp_path: Path) -> None:
    folder = folded(tmp_path / "e", POOLS, ks=(1, 2, 3))
    pages = []
    for name in ("a", "b"):
        make_report([folder], PLAN).write(tmp_path / name, has_plots=False)
        pages.append(page_in(tmp_path / name))
    assert pages[0] == pages[1]


def viewer_page(path: Path, *ids: str) -> Path:
    listed = ",".join(f'{{"id":"{name}","question":"Which \\u003cb\\u003e is {name}?"}}' for name in ids)
    text = f'<script type="application/json" id="list-data">{{"questions":[{listed}]}}</script>'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_questions_link_into_the_page_of_the_viewer_that_is_given(tmp_path: Path) -> None:
    given = viewer_page(tmp_path / "pages" / "my view.html", "q5", "q1", "q2", "q4")
    page = page_in(written(tmp_path, viewer=given))
    links = re.findall(r'href="(\.\./pages/my%20view\.html#/(\d+))"', page)
    assert links
    assert {int(number) for _, number in links} <= {1, 2, 3, 4}
    assert "Which &lt;b&gt; is q" in page


def test_a_page_beside_the_report_or_the_records_is_found(tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    viewer_page(tmp_path / "e" / "v.html", "q1", "q2")
    (tmp_path / "e" / "a.html").write_text("another page")
    assert 'href="../e/v.html"' in page_in(written(tmp_path))


def test_what_is_no_page_of_the_viewer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text("<p>no</p>")
    with pytest.raises(UsageError, match="no page of tracerank view"):
        written(tmp_path, viewer=tmp_path / "other.html")


def test_one_k_one_method_and_no_baseline_make_a_page_too(tmp_path: Path) -> None:
    folder = folded(tmp_path / "e", POOLS, ks=(2,), methods=[Last()])
    make_report([folder], ReportPlan(resamples=50)).write(tmp_path / "r", has_plots=False)
    assert "There is no method to compare with" in page_in(tmp_path / "r")
