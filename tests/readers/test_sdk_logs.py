"""Logs that real SDKs wrote (``tests/readers/sdk_logs``): what is read of each, beside what the script said.

The second scenario was made when the readers were finished: other tools, arguments, returns, hand-offs, streams, runs
without an answer, other ways to save than the first's. Stores and archives are compared in ``tests/gates``.
"""

from pathlib import Path

import pytest

from tests.readers.sdk_logs.compare import expected_of, layouts_of, outcome
from tests.readers.sdk_logs.layouts import MISSING
from tests.readers.sdk_logs.make import SCENARIOS
from tests.readers.sdk_logs.second.gaps import GAPS

LAYOUTS: dict[str, Path] = {
    f"{scenario} {sdk.name}/{layout}": place
    for scenario, about in SCENARIOS.items()
    for sdk in sorted(about.fixtures.iterdir())
    for layout, place in layouts_of(sdk).items()
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_an_sdk_saved_is_read_as_the_script_said(name: str) -> None:
    layout, place = name.split(" ")[1], LAYOUTS[name]
    found = outcome(place, expected_of(place.parent), MISSING.get(layout, ()))
    is_unasked = sum("does not say what was asked" in told for told in found.told)
    is_of_several = is_unasked and not place.is_dir()  # in one file, so that nothing tells them apart
    assert is_unasked == ("question" in MISSING.get(layout, ()) and layout != "crewai/task_output")
    assert found.shown == ("refused" if is_of_several else GAPS.get(layout, "full"))


def test_every_gap_names_a_layout() -> None:
    assert {f"second {name}" for name in GAPS} <= LAYOUTS.keys()
