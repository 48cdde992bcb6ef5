"""Every case of every format is read as its line says."""

from typing import Any

import pytest

from tests.readers.format_cases import cases, files, outcome

CASES = [pytest.param(name, case, id=f"{name}: {case['case']}") for name, _ in files() for case in cases(name)]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_record_is_read_as_expected(name: str, case: dict[str, Any]) -> None:
    assert outcome(name, case) == case["expected"]


def test_no_two_cases_have_one_name() -> None:
    for name, _ in files():
        named = [case["case"] for case in cases(name)]
        assert len(named) == len(set(named)), name
