"""tracerank: choose the best existing answer among K completed search-agent rollouts.

The public names stand in ``__init__.pyi``. Each is imported when it is first used: reading, voting and
the shipped selector work without torch, and a command waits for its own modules only. Nobody inside the package imports
from here.
"""

import ast
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"

_HOME_OF = {
    name.name: line.module
    for line in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(line, ast.ImportFrom) and line.module is not None
    for name in line.names
}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tracerank.errors import UsageError
    from tracerank.extras import needed

    with needed(f"tracerank.{name} needs", "embed", UsageError):
        found = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
