"""Names of files to questions: ``q0r1.jsonl``, ``q0/run-3.jsonl`` and ``run3/q0.jsonl`` are all runs of ``q0``.

For logs that do not say what was asked; also the order of names. Looks at names only. A number that a word for a run
stands before is that of the run, one behind a word for a question is the question's, and one alone is explained by the
other names, if at all.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracerank.readers.vocabulary import word_set

_RUN = (
    r"(?:run|rollout|sample|attempt|seed|trial|try|iter|iteration|epoch|pass|rep|repeat|replica|generation|gen"
    r"|traj|trajectory|session|r|s|k|t)"
)
_GAP = r"[\s_.#=~-]*+"
_RUN_BEHIND = re.compile(rf"(?i:(?P<rest>.{{0,400}}?){_GAP}(?<![a-z]){_RUN}{_GAP}\d{{1,9}})")
_RUN_BEFORE = re.compile(rf"(?i:{_RUN}{_GAP}\d{{1,9}}[\s_.-]+(?P<rest>.+))")
_NUMBER_BEHIND = re.compile(r"(?P<rest>.{0,400}?)[\s_.#(-]*(?<![^\W_])\d{1,5}\)?")
_RUN_FOLDER = re.compile(rf"(?i:{_RUN}{_GAP}\d{{1,9}})")
_RANDOM_BEHIND = re.compile(
    r"(?i:(?P<rest>.{0,400}?)[\s_.-]*(?<![^\W_])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"  # a UUID
    r"|(?=[a-f]*[0-9])[0-9a-f]{16,64}|\d{8}[t_-]?\d{4,6}z?|\d{10,19}"
    r"|\d{4}-\d\d-\d\d(?:[t_ -]\d\d[-:.]?\d\d(?:[-:.]?\d\d)?z?)?))"
)
_QUESTION_WORD = re.compile(
    r"(?i:(?:.*[\s_.-])?(?:q|qid|question|query|task|problem|item|example|ex|case|instance|prompt|topic|id|idx|index|no|nr))"
)
_QUESTION_NAME = re.compile(
    r"(?i:(?:.*[\s_.-])?(?:q|qid|question|query|task|problem|item|example|case|topic)[\s_.-]?\d+)"
)
_NOTHING = word_set(
    "run runs rollout session sessions messages log trace output transcript stream events result results conversation",
    "chat response agent trajectory sample history",
)
"""Names that every run may have."""
_ENDINGS = re.compile(r"(?i:(?:\.(?:jsonl?|ndjson|gz|log|txt|eval|parquet|out|stream|events))+)\Z")
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class RunName:
    """What a name says about the question of a run."""

    question: str | None
    """None: it does not tell questions from runs."""
    possible: tuple[str, ...]
    """Names under which a list may have the question, the most exact first."""


def run_names(files: Sequence[str], root: str) -> dict[str, RunName]:
    """What the names of files below a folder say, looked at together."""
    found = {file: _split(file, root) for file in files}
    is_shared = len({parts.stem for parts in found.values()}) == 1 and len(files) > 1
    names = {file: parts.question(root, is_shared=is_shared) for file, parts in found.items()}
    distinct = {name for name in names.values() if name is not None}
    if len(distinct) == 1 and len(files) > 1 and all(parts.is_vague for parts in found.values()):
        names = dict.fromkeys(names)  # numbered questions, or numbered runs of one?
    if len(files) == 1:
        names = {file: name or found[file].stem for file, name in names.items()}
    return {file: RunName(names[file], parts.possible(names[file])) for file, parts in found.items()}


def common_folder(paths: Iterable[str]) -> str:
    """The folder in which all files lie."""
    folders = {os.path.dirname(os.path.abspath(path)) for path in paths}
    return os.path.commonpath(folders) if folders else os.sep


def question_of_run(name: str) -> str | None:
    """The question that the name of a run holds, such as that of a session; None: it is random or a mere number."""
    rest, kind = _without_run(name)
    if kind == "random":
        return None
    return rest or None if kind == "run" else name if not name.isdigit() else None


@dataclass(frozen=True, slots=True)
class _Parts:
    """A path below a folder, taken apart."""

    folders: tuple[str, ...]
    """Without those that name a run."""
    stem: str
    rest: str
    """The stem without what names a run."""
    kind: str
    """What that was: ``run``, ``number``, ``random``, or nothing."""

    @property
    def is_vague(self) -> bool:
        return self.kind == "number" and bool(self.rest) and not (self.folders or _QUESTION_NAME.fullmatch(self.rest))

    def question(self, root: str, *, is_shared: bool) -> str | None:
        rest = "" if self.rest.lower() in _NOTHING or (is_shared and self.folders) else self.rest
        if name := "/".join((*self.folders, *((rest,) if rest else ()))):
            return name
        own = os.path.basename(root.rstrip(os.sep))
        # A bare number may be that of a question, unless the folder is a question's.
        return own or None if self.kind == "run" or _QUESTION_NAME.fullmatch(own) else None

    def possible(self, name: str | None) -> tuple[str, ...]:
        """Names of the question, from the whole path to its parts."""
        parts = (*self.folders, self.stem), (*self.folders, self.rest)
        joined = ("/".join(part for part in one if part) for one in parts)
        return tuple(
            dict.fromkeys(one for one in (name, *joined, self.stem, self.rest, *reversed(self.folders)) if one)
        )


def _split(file: str, root: str) -> _Parts:
    path = os.path.relpath(os.path.abspath(file), os.path.abspath(root))
    *folders, name = path.split(os.sep)
    kept = tuple(one for one in folders if not _RUN_FOLDER.fullmatch(one) and _without_run(one)[1] != "random")
    stem = _ENDINGS.sub("", name) or name
    return _Parts(kept, stem, *_without_run(stem))


def _without_run(name: str) -> tuple[str, str]:
    """A name without what distinguishes runs, and what that was."""
    rest, kind = name[:200], ""
    for _ in range(_ROUNDS):
        if found := _RANDOM_BEHIND.fullmatch(rest):
            rest, kind = found["rest"], kind or "random"
        elif found := _RUN_BEHIND.fullmatch(rest) or _RUN_BEFORE.fullmatch(rest):
            return found["rest"].strip(" _.-"), "run"
    if (found := _NUMBER_BEHIND.fullmatch(rest)) and not _QUESTION_WORD.fullmatch(found["rest"]):
        return found["rest"].strip(" _.-"), "number"
    rest = rest.strip(" _.-")
    return ("", "random") if kind and rest.lower() in _NOTHING else (rest, kind if not rest else "run" if kind else "")


_DIGITS = re.compile(r"(\d{1,18})")

NaturalKey = list[tuple[tuple[int, int, str], ...]]


def natural(name: str) -> NaturalKey:
    """A key to sort by; parts between slashes are compared one by one, numbers come before letters."""
    return [
        tuple((0, int(part), part) if part.isdecimal() else (1, 0, part) for part in _DIGITS.split(piece) if part)
        for piece in name.replace("\\", "/").split("/")
    ]
