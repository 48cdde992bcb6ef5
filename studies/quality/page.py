"""The tables of ``docs/results.md``, made from ``studies/results``: ``python -m studies.quality.page``."""

import csv
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from studies import RESULTS, ROOT
from studies.paper.page import Line, interval, markdown, with_tables

PAGE = ROOT / "docs" / "results.md"
KS = ("2", "3", "4", "8", "16")
OVER_MEANING = "_over_meaning"
SHOWN_MODELS = ("claude-sonnet4", "gemini-2.5-flash", "Qwen3-14B", "mixed")
"""Of the models of tts_simpleqa; all are in the CSV."""


def lines(name: str) -> list[Line]:
    with open(RESULTS / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def accuracy() -> str:
    """A row for each set and K, with the selector's gains over both votes."""
    cells: dict[tuple[str, str, str], dict[str, Line]] = {}
    for line in lines("quality"):
        cells.setdefault((line["set"], line["k"], line["questions"]), {})[line["method"]] = line
    methods = ("single", "majority", "majority by meaning", "evidence")
    rows = [
        (
            *about,
            *(f"{float(by[method]['right']):.1f}" for method in methods),
            interval(by["evidence"], f"gain{OVER_MEANING}", OVER_MEANING),
            interval(by["evidence"]),
            f"{float(by['oracle']['right']):.1f}",
        )
        for about, by in cells.items()
    ]
    head = ("set", "K", "questions", "single", "vote", "vote by meaning", "evidence")
    return markdown((*head, "over the vote by meaning", "over the vote", "oracle"), rows)


def families() -> str:
    """The gain over the vote by meaning, each family left out of the fit."""
    found: dict[str, dict[str, Line]] = {}
    for line in lines("restraint"):
        if line["k"]:
            found.setdefault(line["family"], {})[line["k"]] = line
    rows = [(family, *(interval(by[k]) if k in by else "" for k in KS)) for family, by in found.items()]
    return markdown(("family", "K=2", *KS[1:]), rows)


def confidence() -> str:
    """Calibration with the basis ``pools``; agents in no fit first."""
    ten = {(line["agent"], line["k"]): line["ece"] for line in lines("confidence") if line["level_of"] == "ten"}
    shown = [line for line in lines("confidence") if line["level_of"] == "all" and _is_shown(line)]
    rows = []
    for line in sorted(shown, key=lambda line: _order(line["agent"])):
        percents = (f"{100 * float(line[name]):.0f}" for name in ("right", "confidence"))
        ece = (line["ece"], ten[line["agent"], line["k"]])
        figures = (line["brier"], line["votes_brier"], *ece, line["auroc"], line["votes_auroc"])
        rows.append((line["agent"], line["k"], line["answered"], *percents, *(f"{float(one):.3f}" for one in figures)))
    head = ("agent", "K", "answered", "right", "said", "Brier", "of vote share", "ECE", "ten", "AUROC", "of vote share")
    return markdown(head, rows)


def _is_shown(line: Line) -> bool:
    family, _, model = line["agent"].partition(" ")
    return line["k"] in ("2", "4", "8", "16") and (family != "tts_simpleqa" or model in SHOWN_MODELS)


def _order(agent: str) -> int:
    return next(position for position, name in enumerate((*_IN_NO_FIT, "")) if agent.startswith(name))


_IN_NO_FIT = ("search_r1", "hotpot_agent", "chat agent")
TABLES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {"accuracy": accuracy, "families": families, "confidence": confidence}
)


def mean_ece(level_of: str) -> Iterable[tuple[str, float]]:
    """By K, the mean over all runs."""
    for k in KS:
        found = [float(line["ece"]) for line in lines("confidence") if (line["k"], line["level_of"]) == (k, level_of)]
        yield k, round(sum(found) / len(found), 3)


def main() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), TABLES), encoding="utf-8")
    for level_of in ("all", "ten"):
        print(f"mean ECE, level of {level_of}:", dict(mean_ece(level_of)))


if __name__ == "__main__":
    main()
