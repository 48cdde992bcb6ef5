"""What a trial does, step by step, and the one table that it ends with.

A step is a name and a function from a ``Trial`` to a row. Rows are kept as soon as they are there, and a step whose
row is there is not done again.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from studies.trial.almanac import Almanac
from studies.trial.rollouts import Made, drawn_questions, is_forced, make_rollouts, misses
from studies.trial.server import NAME
from tracerank.lab.chat.styles import STYLES
from tracerank.pools.types import Question
from tracerank.runs.atomic import whole_file


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one step; counts are of ``asked``, None: does not apply."""

    step: str
    asked: int
    """Rollouts, or questions of a method."""
    searched: int | None
    answered: int
    malformed: int | None
    """Turns that were neither a call nor an answer, or replies that could not be read."""
    forced: int | None
    tokens: float | None
    """Written, a rollout or a question; None: the server does not count."""
    seconds: float
    """The same, of the wall."""
    right: int
    """By meaning."""


@dataclass(slots=True)
class Trial:
    """A model to be tried, and where what it says is kept."""

    address: str
    folder: Path
    questions: tuple[Question, ...]
    k: int
    made: dict[str, Made] = field(default_factory=dict)
    """Rollouts by style, for the steps that settle them."""

    @classmethod
    def of(cls, address: str, folder: Path, count: int, k: int) -> "Trial":
        """In a folder that holds the almanac and what an earlier attempt made."""
        almanac = Almanac.indexed_in(folder / "almanac")
        return cls(address, folder, drawn_questions(almanac, count), k)

    def rollouts(self, style: str) -> Made:
        """Those of a style, made now where they are missing."""
        if style not in self.made:
            path = self.folder / f"{style}.jsonl"
            self.made[style] = make_rollouts(self.address, NAME, style, self.questions, self.k, path)
        return self.made[style]


Step = Callable[[Trial], Row]


def rollout_step(style: str) -> Step:
    """Rollouts in one style."""

    def step(trial: Trial) -> Row:
        made = trial.rollouts(style)
        rollouts = [rollout for _, rollout in made.rollouts]
        count = len(rollouts)
        counted = [rollout.usage.completion_tokens for rollout in rollouts if rollout.usage is not None]
        return Row(
            f"rollouts: {style}",
            count,
            sum(bool(rollout.searches) for rollout in rollouts),
            sum(bool(rollout.answer) for rollout in rollouts),
            sum(map(misses, rollouts)),
            sum(map(is_forced, rollouts)),
            sum(counted) / len(counted) if counted else None,
            made.seconds,
            sum(rollout.label == 1.0 for rollout in rollouts),
        )

    return step


MAKING: dict[str, Step] = {style: rollout_step(style) for style in STYLES}
"""The steps that make rollouts; `settling.py` has those that use them."""


def run_steps(trial: Trial, steps: Mapping[str, Step]) -> list[Row]:
    """The rows of these steps; a row that an earlier attempt wrote for as many questions is taken over."""
    path = trial.folder / "rows.json"
    kept: dict[str, dict[str, object]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    size = [len(trial.questions), trial.k]
    rows: list[Row] = []
    for name, step in steps.items():
        if name not in kept or kept[name]["size"] != size:
            kept[name] = {"size": size, "row": asdict(step(trial))}
            with whole_file(path) as file:
                file.write(json.dumps(kept, indent=1).encode())
        rows.append(Row(**kept[name]["row"]))  # type: ignore[arg-type]
    return rows


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| step | of | searched | answered | malformed | forced | tokens | seconds | right by meaning |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        shown = (
            row.step,
            row.asked,
            _of(row.searched, row.asked),
            _of(row.answered, row.asked),
            "-" if row.malformed is None else row.malformed,
            _of(row.forced, row.asked),
            "-" if row.tokens is None else f"{row.tokens:.0f}",
            f"{row.seconds:.0f}",
            _of(row.right, row.asked),
        )
        lines.append(f"| {' | '.join(map(str, shown))} |")
    return "\n".join(lines)


def _of(count: int | None, asked: int) -> str:
    return "-" if count is None else f"{count} ({100 * count / asked:.0f}%)"
