"""What all selectors on disk share: a JSON description beside the weights, each file written whole or not at all."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracerank.errors import CheckpointError


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place and move it there, so that it is whole or absent."""
    part = path.with_name(f"{path.name}.part")
    write(part)
    os.replace(part, path)


def write_description(path: Path, about: Mapping[str, Any]) -> None:
    """The description, last of all files: a folder that has it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(about, indent=2) + "\n"
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def read_description(path: Path, format_name: str, what: str, weights: str | None = None) -> dict[str, Any]:
    """The description of a folder, if it is of this format; ``what`` the folder should be, for messages."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{path.parent}: no {what} here; expected a folder with {' and '.join(filter(None, (path.name, weights)))}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None
    if not isinstance(about, dict) or about.get("format") != format_name:
        found = about.get("format") if isinstance(about, dict) else type(about).__name__
        raise CheckpointError(f"{path}: format is {found!r}; this version reads {format_name!r}")
    return about


@contextmanager
def checked_description(path: Path) -> Iterator[None]:
    """Turns what a damaged description raises into an error that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged ({error!r}); fit again or restore the folder") from None
