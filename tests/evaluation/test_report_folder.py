"""A report from Python: folders of records in, tables and files out."""

import json
from pathlib import Path

import pytest

from tests.worlds import generate_pools
from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.record_folder import RecordFolder
from tracerank.evaluation.report import ReportPlan
from tracerank.evaluation.report_folder import make_report
from tracerank.votes.voting import MajorityVote


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluated") / "votes"
    with RecordFolder(path, {"label": "é"}) as folder:
        for record in evaluate([MajorityVote()], folder.noting(generate_pools(8, seed=2, k=4), 4, None), [2, 4]):
            folder.write(record)
    return path


def test_the_report_is_of_the_records_and_its_files_hold_the_same(evaluated: Path, tmp_path: Path) -> None:
    report = make_report([evaluated])
    assert report.title == "8 questions of votes"
    report.write(tmp_path / "r", has_plots=False)
    assert json.loads((tmp_path / "r" / "report.json").read_text()) == report.record()
    assert (tmp_path / "r" / "report.md").read_text(encoding="utf-8") == report.markdown()
    written = {path.name for path in (tmp_path / "r").iterdir()}
    assert written == {"index.html", "report.md", "report.json", *(f"{table.name}.csv" for table in report.tables)}


def test_what_the_records_do_not_hold_is_refused(evaluated: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the records are of K=2, 4"):
        make_report([evaluated], ReportPlan(k=3))
    with pytest.raises(UsageError, match="no such method there; there are"):
        make_report([evaluated], ReportPlan(against="trace"))
    with RecordFolder(tmp_path / "empty", {}):
        pass
    with pytest.raises(UsageError, match="no records yet"):
        make_report([tmp_path / "empty"])
