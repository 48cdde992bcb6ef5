"""What ``index.json`` says about an index: written last, so that a folder with it is whole."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tracerank.agents.corpus.words import LANGUAGE
from tracerank.errors import CorpusError

FORMAT = "tracerank-corpus/1"
FILE = "index.json"


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """The numbers of an index and what it was made with."""

    documents: int
    passages: int
    terms: int
    """Distinct index terms."""
    words: int
    """Most words of a passage."""
    overlap: int
    """Most words that neighbouring passages share."""
    dropped: int
    """Rows that could not be read."""
    copies: int
    """Rows left out because an earlier one has the same title and text."""
    fingerprint: str
    """Equal for equal documents cut and indexed alike."""
    language: str = LANGUAGE
    format: str = FORMAT

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read_info(folder: Path) -> CorpusInfo:
    """What the index in a folder says about itself."""
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise CorpusError(f"{folder}: no index; make one with tracerank corpus build DOCS.jsonl -o {folder}") from None
    except ValueError:
        raise CorpusError(f"{path}: is damaged; build the index again") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        what = found.get("format") if isinstance(found, dict) else None
        raise CorpusError(f"{path}: format {what!r} is unknown to this version, which reads {FORMAT!r}; build it again")
    try:
        return CorpusInfo(**{field.name: found[field.name] for field in fields(CorpusInfo)})
    except KeyError as error:
        raise CorpusError(f"{path}: lacks {error}; build the index again") from None
