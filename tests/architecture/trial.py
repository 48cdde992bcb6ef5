"""A copy of the package to which something is added as CONTRIBUTING.md tells it, run as a user would run it."""

import shutil
import subprocess
import sys
from os import environ
from pathlib import Path

from tests.architecture.source import PACKAGE, SRC


class TrialCopy:
    """The package's files under another folder; adding to them touches nothing else."""

    def __init__(self, folder: Path) -> None:
        self._src = folder / "src"
        # With what was compiled, which stays valid: times are copied, too.
        shutil.copytree(SRC / PACKAGE, self._src / PACKAGE)
        self.touched: set[str] = set()
        """The files that were written or changed."""

    def write(self, path: str, text: str) -> None:
        """A module of one's own."""
        target = self._src / PACKAGE / path
        assert not target.exists(), f"{path} exists; an addition gets a file of its own"
        target.write_text(text, encoding="utf-8")
        self.touched.add(path)

    def insert(self, path: str, after: str, text: str) -> None:
        """Lines behind the one line that reads ``after``."""
        target = self._src / PACKAGE / path
        lines = target.read_text(encoding="utf-8").split("\n")
        assert lines.count(after) == 1, (
            f"{path}: {lines.count(after)} lines read {after!r}; what does CONTRIBUTING say?"
        )
        place = lines.index(after) + 1
        target.write_text("\n".join([*lines[:place], text, *lines[place:]]), encoding="utf-8")
        self.touched.add(path)

    def run(self, *arguments: object) -> str:
        """What ``tracerank`` prints."""
        return self.python("-m", PACKAGE, *arguments)

    def python(self, *arguments: object) -> str:
        """What an interpreter that has this copy of the package prints."""
        command = [sys.executable, *map(str, arguments)]
        environment = {**environ, "PYTHONPATH": str(self._src)}
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        assert run.returncode == 0, run.stderr or run.stdout
        return run.stdout
