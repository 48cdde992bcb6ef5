"""Data of the laboratory are there in a checkout, and missed with one line elsewhere."""

import pytest

from tracerank.errors import UsageError
from tracerank.lab.data import read_data


def test_a_checkout_has_the_data_and_a_wheel_says_what_to_do() -> None:
    assert read_data("almanac/questions.jsonl")
    with pytest.raises(UsageError, match=r"^none\.bin: a wheel comes without .* pip install -e '\.\[lab\]'$"):
        read_data("lexical/none.bin")
