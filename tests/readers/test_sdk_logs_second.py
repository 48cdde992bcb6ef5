"""Logs of the second scenario (``tests/readers/sdk_logs/second``), which nobody had in sight when readers were written.

Other tools, arguments and returns, hand-offs, streams, runs without an answer, other ways to save than the first's.
"""

from pathlib import Path

import pytest

from tests.readers.sdk_logs.compare import expected_of, layouts_of, outcome
from tests.readers.sdk_logs.layouts import MISSING
from tests.readers.sdk_logs.second.gaps import GAPS
from tests.readers.sdk_logs.second.scenario import SECOND

LAYOUTS: dict[str, Path] = {
    f"{sdk.name}/{name}": place for sdk in sorted(SECOND.fixtures.iterdir()) for name, place in layouts_of(sdk).items()
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_an_sdk_saved_is_read_as_the_script_said(layout: str) -> None:
    place = LAYOUTS[layout]
    found = outcome(place, expected_of(place.parent), MISSING.get(layout, ()))
    assert found.shown == GAPS.get(layout, "full")


def test_every_gap_names_a_layout() -> None:
    assert GAPS.keys() <= LAYOUTS.keys()
