"""What the libraries beside us leave behind ends with the tests that used them."""

import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def no_leftovers() -> Iterator[None]:
    """Event loops that other libraries never close are collected here, not in the middle of somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
