"""Figures of the README and of docs/results.md are those of the tables in studies/results."""

import csv
import re

import pytest

from tests.docs.blocks import ROOT


def table(name: str) -> list[dict[str, str]]:
    with open(ROOT / f"studies/results/{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_accuracies_and_gains_stand_in_the_table_that_the_study_wrote(page: str) -> None:
    rows = [row for name in ("quality", "restraint") for row in table(name)]
    written = {
        f"{float(row[gain]):+.1f} [{float(row[low]):+.1f}, {float(row[high]):+.1f}]"
        for row in rows
        for gain, low, high in (
            ("gain", "low", "high"),
            ("gain_over_meaning", "low_over_meaning", "high_over_meaning"),
        )
        if row.get(gain)
    }
    lines = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    quoted = [found for line in lines for found in re.findall(r"[+-][\d.]+ \[[+-][\d.]+, [+-][\d.]+\]", line)]
    assert quoted
    assert [one for one in quoted if one not in written] == []


def test_the_gains_of_the_network_in_the_readme_are_those_of_the_paper_study() -> None:
    trained = {
        row["setting"]: float(row["gain"])
        for row in table("paper_main")
        if (row["world"], row["agents"], row["k"], row["method"]) == ("scattered", "base", "16", "trace")
    }
    [real] = [float(row["gain"]) for row in table("paper_real") if (row["set"], row["k"]) == ("hotpot_agent+", "8")]
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"is {trained['webqa']:.1f} points over the vote in WebQA and {trained['browsing']:.1f} in browsing" in text
    assert f"it is {-real:.1f} points below" in text
