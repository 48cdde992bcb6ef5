"""A majority vote that lies in a folder like any fitted method, with a calibration of its own beside it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import GROUPINGS, AnswerGrouping
from tracerank.votes.base import Decision
from tracerank.votes.folders import ABOUT, checked_description, read_description, write_description
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.voting import MajorityVote

FORMAT = "tracerank-vote/1"


class FittedVote(Selector):
    """What a fit returns where no model was surely better than a vote."""

    kind = "vote"
    name = "vote"

    def __init__(self, vote: MajorityVote) -> None:
        """``vote`` must group by rules alone, so that a folder can hold it."""
        self.vote = vote

    @property
    def grouping(self) -> AnswerGrouping:
        return self.vote.grouping

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        return (self.calibrated(pool, self.vote.decide(pool)) for pool in pools)

    def of_form(self, form: str) -> "FittedVote":
        """The same vote, returned in another form."""
        other = FittedVote(MajorityVote(self.grouping, form))
        other.calibrator = self.calibrator
        return other

    def save(self, folder: str | Path) -> None:
        about = {"format": FORMAT, "kind": self.kind, "equality": self.grouping.name, "form": self.vote.form}
        write_description(Path(folder) / ABOUT, about)

    @classmethod
    def load(cls, folder: str | Path, embedder: EmbedderChoice = None) -> "FittedVote":
        """From a folder that ``save`` wrote; it needs no encoder and ignores the one that is given."""
        path = Path(folder) / ABOUT
        about = read_description(path, FORMAT, "vote")
        with checked_description(path):
            return cls(MajorityVote(GROUPINGS[about["equality"]], about["form"]))
