"""The general reader alone, over records of known formats and logs of SDKs: what it gets wrong, it is not sure of."""

import pytest

from tests.readers.sample_records import SAMPLES
from tests.readers.sdk_logs.compare import expected_of, layouts_of, outcome
from tests.readers.sdk_logs.general_alone import compared
from tests.readers.sdk_logs.layouts import MISSING
from tests.readers.sdk_logs.make import SCENARIOS

PLACES = {
    f"{scenario} {sdk.name}/{layout}": place
    for scenario, about in SCENARIOS.items()
    for sdk in sorted(about.fixtures.iterdir())
    for layout, place in layouts_of(sdk).items()
    if sdk.name != "smolagents"  # whose agents write code, which has a reader of its own
}


@pytest.mark.parametrize("name", SAMPLES)
def test_no_record_of_a_known_format_is_misread_in_silence(name: str) -> None:
    found = compared(name)
    assert not found.is_silent, found


@pytest.mark.parametrize("layout", PLACES)
def test_no_log_of_an_sdk_is_misread_in_silence(layout: str) -> None:
    place = PLACES[layout]
    found = outcome(place, expected_of(place.parent), MISSING.get(layout.split(" ")[1], ()), "general")
    assert not found.is_silent, found
