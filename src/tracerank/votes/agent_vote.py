"""A vote by meaning in which each agent weighs as much as it is reliable."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tracerank.pools.pool import Pool
from tracerank.votes.agents import Reliabilities
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.base import Decision, with_note
from tracerank.votes.folders import ABOUT, checked_description, read_description, write_description
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.voting import FORMS, Ballot

FORMAT = "tracerank-agents/1"
FORM = "commonest"
UNWEIGHED = "no rollout is of an agent that was weighed: every vote counts the same"


class AgentVote(Selector):
    """The heaviest meaning; ties go to the earliest."""

    kind = "agents"
    name = "agents"

    def __init__(self, reliabilities: Reliabilities, form: str = FORM) -> None:
        """``form``: which wording of the meaning is returned, one of ``voting.FORMS``."""
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        self.reliabilities, self.form = reliabilities, form

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        return (self.calibrated(pool, self.weighed(Ballot.of(pool, MeaningGroups()))) for pool in pools)

    def weighed(self, ballot: Ballot) -> Decision:
        """The decision on answers that are grouped already."""
        weights = [self.reliabilities.weight_of(rollout) for rollout in ballot.retained.kept]
        known = any(map(self.reliabilities.is_known, ballot.retained.kept))
        return with_note(ballot.decision(weights, self.form), None if known or not weights else UNWEIGHED)

    def of_form(self, form: str) -> "AgentVote":
        """The same vote, returned in another form."""
        other = AgentVote(self.reliabilities, form)
        other.calibrator = self.calibrator
        return other

    def save(self, folder: str | Path) -> None:
        known = self.reliabilities
        about: dict[str, Any] = {"format": FORMAT, "kind": self.kind, "form": self.form, "agents": dict(known.values)}
        about |= {"mean": known.mean, "floor": known.floor, "are_by_file": known.are_by_file}
        write_description(Path(folder) / ABOUT, about)

    @classmethod
    def load(cls, folder: str | Path, embedder: EmbedderChoice = None) -> "AgentVote":
        """From a folder that ``save`` wrote; it needs no encoder and ignores the one that is given."""
        path = Path(folder) / ABOUT
        about = read_description(path, FORMAT, "vote that weighs agents")
        with checked_description(path):
            values = {str(name): float(value) for name, value in about["agents"].items()}
            mean, floor = float(about["mean"]), float(about["floor"])
            if not all(0 <= value <= 1 for value in (*values.values(), mean, floor)):
                raise ValueError("reliabilities lie between 0 and 1")
            return cls(Reliabilities(values, mean, floor, bool(about["are_by_file"])), str(about["form"]))
