"""Figures of the README and of docs/results.md are those of the tables in studies/results."""

import csv
import re

import pytest

from tests.docs.blocks import ROOT


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_accuracies_and_gains_stand_in_the_table_that_the_study_wrote(page: str) -> None:
    with open(ROOT / "studies/results/quality.csv", encoding="utf-8", newline="") as file:
        written = {
            f"{float(row[gain]):+.1f} [{float(row[low]):+.1f}, {float(row[high]):+.1f}]"
            for row in csv.DictReader(file)
            for gain, low, high in (
                ("gain", "low", "high"),
                ("gain_over_meaning", "low_over_meaning", "high_over_meaning"),
            )
        }
    rows = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    quoted = [found for line in rows for found in re.findall(r"[+-][\d.]+ \[[+-][\d.]+, [+-][\d.]+\]", line)]
    assert quoted
    assert [one for one in quoted if one not in written] == []
