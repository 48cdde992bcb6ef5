"""The scaling study: cells are measured once and kept, and the table takes its place in the document."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies.quality import scaling
from studies.quality.scaling import DOCUMENT, HEADING, ROWS, Scaling, gain, lines, signal, with_section


def test_a_cell_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = replace(ROWS["shared"], plan={"epochs": 1, "batch_pools": 32})
    monkeypatch.setattr(scaling, "ROWS", {"quick": quick})
    monkeypatch.setattr(scaling, "AGAINST", {"quick": "quick"})
    first = Scaling(tmp_path, judged=12).measure("quick", 120)
    monkeypatch.delattr(scaling, "train")
    study = Scaling(tmp_path, judged=12)
    again = study.measure("quick", 120)
    assert all(np.array_equal(first.right[k], again.right[k]) and len(again.right[k]) == 12 for k in (4, 16))
    assert again.training["beginning"]["shared"] is True
    shown = list(lines(study, ("quick",), (120, 300)))
    assert sum("`--shared`" in line for line in shown) == 4  # against the vote and against the other row, for each K
    assert study.cell("quick", 300) is None


def test_a_gain_is_in_points_with_its_interval() -> None:
    one, other = np.array([1.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0])
    assert gain(one, other).startswith("+50.0 [")
    assert gain(one, one) == "+0.0 [+0.0, +0.0]"


def test_the_cosine_of_the_study_s_vectors_tells_which_passage_holds_an_answer() -> None:
    assert signal(questions=20) > 0.9


def test_the_table_replaces_the_one_in_its_section_and_nothing_else() -> None:
    document = f"a\n\n| not | this |\n\n{HEADING}\nwords\n\n| old |\n|---|\n\nmore\n\n## next\n\n| kept |\n"
    written = with_section(document, ["| new |"])
    assert written == document.replace("| old |\n|---|", "| new |")
    assert with_section(written, ["| old |", "|---|"]) == document
    assert HEADING in DOCUMENT.read_text(encoding="utf-8")
