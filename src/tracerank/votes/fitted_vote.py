"""A majority vote that lies in a folder like any fitted method; agents may weigh as much in it as they are reliable."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from tracerank.pools.pool import Pool
from tracerank.votes.agents import Reliabilities
from tracerank.votes.answer_groups import GROUPINGS, AnswerGrouping, MeaningGroups
from tracerank.votes.base import Decision, with_note
from tracerank.votes.folders import ABOUT, checked_description, read_description, write_description
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.voting import Ballot, MajorityVote

FORMAT = "tracerank-vote/2"
UNWEIGHED = "no rollout is of an agent that was weighed: every vote counts the same"


class FittedVote(Selector):
    """What a fit returns where no model was surely better than a vote, or where it weighed agents."""

    kind = "vote"

    def __init__(self, vote: MajorityVote, agents: Reliabilities | None = None) -> None:
        """``vote`` must group by rules alone, so that a folder can hold it; ``agents``: None, every vote weighs one."""
        self.vote, self.agents = vote, agents

    @classmethod
    def of_agents(cls, agents: Reliabilities, form: str | None = None) -> "FittedVote":
        """The vote by meaning that weighs agents."""
        return cls(MajorityVote(MeaningGroups(), form or "commonest"), agents)

    @property
    def name(self) -> str:
        return "vote" if self.agents is None else "agents"

    @property
    def grouping(self) -> AnswerGrouping:
        return self.vote.grouping

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        return (self.calibrated(pool, self.counted(Ballot.of(pool, self.grouping))) for pool in pools)

    def counted(self, ballot: Ballot) -> Decision:
        """The decision on answers that are grouped already."""
        kept, agents = ballot.retained.kept, self.agents
        if agents is None:
            return ballot.decision([1.0] * len(kept), self.vote.form)
        decision = ballot.decision(list(map(agents.weight_of, kept)), self.vote.form)
        return with_note(decision, None if not kept or any(map(agents.is_known, kept)) else UNWEIGHED)

    def of_form(self, form: str) -> "FittedVote":
        """The same vote, returned in another form."""
        other = FittedVote(MajorityVote(self.grouping, form), self.agents)
        other.calibrator = self.calibrator
        return other

    def save(self, folder: str | Path) -> None:
        agents = None if self.agents is None else asdict(self.agents)
        about = {"equality": self.grouping.name, "form": self.vote.form, "agents": agents}
        write_description(Path(folder) / ABOUT, {"format": FORMAT, "kind": self.kind, **about})

    @classmethod
    def load(cls, folder: str | Path, embedder: EmbedderChoice = None) -> "FittedVote":
        """From a folder that ``save`` wrote; it needs no encoder and ignores the one that is given."""
        path = Path(folder) / ABOUT
        about = read_description(path, FORMAT, "vote")
        with checked_description(path):
            agents = None if about["agents"] is None else Reliabilities(**about["agents"])
            return cls(MajorityVote(GROUPINGS[about["equality"]], about["form"]), agents)
