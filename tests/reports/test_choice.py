"""Which report is returned: never a stub, a refusal or one off the topic while a sound one exists; then the richest."""

import pytest

from tests.reports.texts import FULL, NARRATING, OFF_TOPIC, PROMPT, SECOND, THIRD
from tracerank.reports import choice as flaws
from tracerank.reports.choice import EMPTY, NARRATION, REFUSAL, STUB, TRUNCATED, Choice, choose, flaw_of
from tracerank.reports.statements import read_report


def choice(*reports: str, prompt: str = PROMPT) -> Choice:
    return choose(prompt, [read_report(report) for report in reports])


def test_the_richest_report_is_chosen_wherever_it_stands() -> None:
    assert choice(FULL, SECOND, THIRD).index == 0
    assert choice(SECOND, THIRD, FULL).index == 2
    assert choice(SECOND, SECOND).index == 0


def test_repetition_makes_no_report_richer() -> None:
    assert choice(SECOND * 9, FULL).index == 1


@pytest.mark.parametrize(
    ("report", "flaw"),
    [
        ("", EMPTY),
        ("See below.", STUB),
        (NARRATING, STUB),
        ("Here is the report:", STUB),
        (f"I could not find any information on the bridge. {SECOND}", REFUSAL),
        (f"Okay, let me write this up. Now I will list what I found. {SECOND}", NARRATION),
        (f"{SECOND} It was closed once more in the winter of the year before the", TRUNCATED),
        (f"{SECOND}\n```python\nprint(1)\n", TRUNCATED),
        (SECOND, None),
        (f"{SECOND}\n\n- a last point of more than twelve words that has no full stop at its very end", None),
        (f"{SECOND}\n\n## Sources\n1. Crossings of the Orn and of other rivers, a list by the province, 1987", None),
        (f"Let me sum up what I found. {SECOND} {THIRD}", None),
        (f"{SECOND}\n\n| year | crossings |\n|---|---|\n| 1949 | 4,000 |", None),
    ],
)
def test_a_flaw_is_named(report: str, flaw: str | None) -> None:
    assert flaw_of(report) == flaw


@pytest.mark.parametrize(
    "flawed", [NARRATING * 20, f"I am sorry, but I cannot find it. {FULL}", "", "None.", OFF_TOPIC * 3]
)
def test_a_flawed_report_is_not_chosen_while_a_sound_one_exists(flawed: str) -> None:
    chosen = choice(SECOND, flawed, THIRD, FULL[:200])
    assert chosen.index in (0, 2)
    assert 1 in chosen.dropped


def test_a_report_on_something_else_is_dropped_however_long() -> None:
    chosen = choice(SECOND, OFF_TOPIC * 2, THIRD, FULL)
    assert (chosen.index, chosen.dropped) == (3, {1: flaws.OFF_TOPIC})


def test_a_report_that_breaks_off_is_passed_over_only_for_a_whole_one_of_half_its_words() -> None:
    broken = f"{FULL.partition('## Ref')[0]} {SECOND} Later on it was planned to widen the roadway for a second lane of"
    assert choice(broken, THIRD + SECOND).dropped == {0: TRUNCATED}
    assert choice(broken, "The Kessel bridge crosses the river Orn near the town of Vessen.").index == 0


def test_of_flawed_reports_the_mildest_is_returned_and_its_flaw_is_known() -> None:
    chosen = choice("", f"I could not find any information. {SECOND}", NARRATING)
    assert (chosen.index, chosen.flaw) == (1, REFUSAL)
    assert choice("", "").index is None
