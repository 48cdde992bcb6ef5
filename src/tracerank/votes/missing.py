"""What an unsure pool lacks, as data: answers without support, names that were not looked up, repeated queries.

``evidence/gaps.py`` finds it; a decision may carry it. No text is written by a model: each is a part of the question,
of an answer or of a query.
"""

from dataclasses import asdict, dataclass
from typing import Any

UNSURE = 0.7
"""Below this confidence, or without one, evidence that is missing is looked for unless another is given."""
QUESTION, ANSWER = "question", "answer"
"""Where a name stands."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """An answer that stands in no text that any rollout saw."""

    answer: str
    rollouts: tuple[int, ...]
    """Sample ids of the rollouts that gave it, in any wording."""
    is_chosen: bool
    """Whether it is what was returned; else it is a rival."""
    nearest: float
    """Largest share of its words, by rarity, that one text has."""
    was_asked: bool
    """Whether any query asked for it."""


@dataclass(frozen=True, slots=True)
class UnsearchedName:
    """A name that no query asked for, apart from those that repeat the question, and that no page seen is about.

    Answers that no text supports are not among them: they are listed under it.
    """

    phrase: str
    where: str
    """``question`` or ``answer``."""
    rollouts: tuple[int, ...] = ()
    """Of an answer: sample ids of those that gave it."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A query that most rollouts asked, in any order of its words."""

    query: str
    """As the first of them wrote it."""
    rollouts: int
    """That asked it."""
    searching: int
    """Rollouts that searched at all."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What evidence would decide a pool, as far as can be seen without a model."""

    unsupported: tuple[Unsupported, ...] = ()
    unasked: tuple[UnsearchedName, ...] = ()
    repeated: tuple[Repeated, ...] = ()
    note: str | None = None
    """What could not be checked, such as pools without evidence; None: everything was."""

    def __bool__(self) -> bool:
        return bool(self.unsupported or self.unasked or self.repeated)

    def record(self) -> dict[str, Any]:
        """In plain values."""
        return asdict(self)
