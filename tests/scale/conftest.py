"""What the tests of engines share with those of the command line."""

from tests.cli.conftest import pools

__all__ = ["pools"]
