"""What the tests of engines share with those of the command line."""

from tests.cli.conftest import checkpoint, pools, run, world

__all__ = ["checkpoint", "pools", "run", "world"]
