"""The part of docs/quality.md by meaning; ``studies/quality/meaning_report.py``."""

import pytest

from studies.quality.by_meaning import LEFT_OUT, LEXICAL, OTHER, TEST, WORLD
from studies.quality.figures import GENERATOR, STRONGEST
from studies.quality.meaning_candidates import RECIPE
from studies.quality.meaning_report import Measured, marks, report
from studies.quality.meaning_tables import ORACLE, Figure, Part, Row, Sanity
from studies.quality.methods import ABSTENTIONS_OUT, MAJORITY, SHIPPED


def row(cell: str, gain: float, method: str = SHIPPED, over: str = STRONGEST) -> Row:
    return Row(cell, 1234, method, Figure(50.0, gain, gain - 1, gain + 1), None, over)


def left_out(*rows: Row) -> dict[str, Part]:
    return {LEFT_OUT: Part(list(rows), [])}


def mark(parts: dict[str, Part], wanted: str) -> str:
    return next(str(found) for found in marks(Measured(parts)) if found.wanted.startswith(wanted))


def test_gains_stand_beside_each_other_over_every_baseline_that_there_is() -> None:
    cell = "search_r1, K=2"
    gains = [row(cell, 3.0, over=ABSTENTIONS_OUT), row(cell, 2.0), row(cell, -1.0, over=GENERATOR)]
    lines = report({"search_r1": Part([*gains, row(cell, 9.0, ORACLE)], [])})
    table = next(line for line in lines if line.startswith("| unseen: search_r1, K=2"))
    assert "| 1,234 | 50.0 | +3.0 [+2.0, +4.0] | +2.0 [+1.0, +3.0] | -1.0 [-2.0, +0.0] |" in table


def test_where_there_is_one_generator_nothing_is_said_of_the_best() -> None:
    cell = f"{WORLD}, K=4"
    lines = report({WORLD: Part([row(cell, 3.0, over=ABSTENTIONS_OUT), row(cell, 2.0), row(cell, 9.0, ORACLE)], [])})
    assert next(line for line in lines if line.startswith(f"| {cell}")).endswith(
        "| +2.0 [+1.0, +3.0] | - | - | 50.0 | - |"
    )


def test_the_best_vote_of_a_set_is_named() -> None:
    cell = f"{WORLD}, K=4"
    rows = [row(cell, 2.0), row(cell, 9.0, ORACLE), row(cell, -1.0, MAJORITY), row(cell, 0.0, ABSTENTIONS_OUT)]
    table = next(line for line in report({WORLD: Part(rows, [])}) if line.startswith(f"| {cell}"))
    assert table.endswith(f"| {ABSTENTIONS_OUT} |")


@pytest.mark.parametrize(("gain", "reached"), [(2.0, "yes |"), (1.9, "**no** |")])
def test_a_mark_is_reached_from_its_least_gain_on(gain: float, reached: str) -> None:
    assert mark({"search_r1": Part([row("search_r1, K=2", gain)], [])}, "search_r1, K=2").endswith(reached)


def test_the_world_is_marked_over_the_paper_s_vote() -> None:
    rows = [row(f"{WORLD}, K=4", 5.0), row(f"{WORLD}, K=4", 3.0, over=MAJORITY)]
    assert mark({WORLD: Part(rows, [])}, f"{WORLD}, K=4").endswith("| +3.0 [+2.0, +4.0] | **no** |")


def test_what_was_not_measured_is_neither_reached_nor_missed() -> None:
    assert mark({}, "hotpot_agent, K=8").endswith("| not measured | - |")
    assert all(found.is_reached is None for found in marks(Measured({})))


def test_an_agent_that_is_surely_below_the_vote_is_named() -> None:
    parts = left_out(row(f"{TEST}, fireact, K=3", -2.0, RECIPE), row(f"{TEST}, knowagent, K=2", -0.5, RECIPE))
    found = mark(parts, f"{TEST}: no agent below")
    assert "below: fireact, K=3 -2.0" in found
    assert "knowagent" not in found
    assert found.endswith("| **no** |")


def test_an_agent_below_the_vote_within_its_interval_is_told_and_passes() -> None:
    parts = left_out(row(f"{OTHER}, fireact, K=3", -0.5, RECIPE), row(f"{OTHER}, knowagent, K=2", 4.0, RECIPE))
    assert mark(parts, f"{OTHER}: no agent below").endswith("| lowest: fireact, K=3 -0.5 [-1.5, +0.5] | yes |")


def test_agents_without_a_language_model_are_marked_over_the_paper_s_vote() -> None:
    parts = {LEXICAL[0]: Part([row(f"{LEXICAL[0]}, K=4", 3.0, over=MAJORITY)], [])}
    assert mark(parts, f"{LEXICAL[0]}, K=4").endswith("| +3.0 [+2.0, +4.0] | **no** |")
    assert mark(parts, f"{LEXICAL[0]}, K=16").endswith("| not measured | - |")


def test_sanity_is_told_of_what_ships_alone() -> None:
    counts = {"pools": 1000, "vote_right": 7}
    part = Part([], [Sanity("world, K=4", SHIPPED, counts), Sanity("world, K=4", RECIPE, counts)])
    lines = report({WORLD: part})
    assert [line for line in lines if line.startswith("| world, K=4 |")] == ["| world, K=4 | 1,000 | 7 |"]
