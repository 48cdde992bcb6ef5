"""tracerank: choose the best existing answer among K completed search-agent rollouts.

The public names stand in ``__init__.pyi``. Each is imported when it is first used: reading, voting and the shipped
selector work without torch, and a command waits for its own modules only. Modules of the package do not import from
here.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

__version__ = "0.2.0"
_MOVED = {
    "BetaRule": "stopping.rules",
    "Document": "pools.types",
    "Escalating": "votes.escalation",
    "Method": "votes.base",
    "MethodOptions": "methods",
    "WindowRule": "stopping.rules",
    "decide_stream": "votes.base",
    "estimate_level": "evidence.level",
    "explain_stream": "votes.explanation",
    "gaps": "evidence.gaps",
    "load_embedder": "embedding.load",
    "set_level": "evidence.confidence",
}
"""Names that stood here in an earlier version, and the module that each is in."""


@cache
def _homes() -> dict[str, str]:
    """Public name to the module that has it."""
    import ast

    return {
        name.name: line.module
        for line in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
        if isinstance(line, ast.ImportFrom) and line.module is not None
        for name in line.names
    }


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_homes())
    if name.startswith("_") or name not in _homes():
        instead = f"; import it from {__name__}.{_MOVED[name]}" if name in _MOVED else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
    from tracerank.errors import UsageError
    from tracerank.extras import needed

    with needed(f"tracerank.{name} needs", "embed", UsageError):
        found = getattr(import_module(_homes()[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*sorted(_homes()), "__version__"]
