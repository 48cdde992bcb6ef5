"""``fit --by-agent``: from a few labelled pools to a vote by meaning that weighs agents by how often they are right."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tracerank.errors import UsageError
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.labels import AUTO, Labelling
from tracerank.evaluation.tables import POINTS, Table, columns, shown
from tracerank.fitting.candidates import correct
from tracerank.fitting.fit import clear_folder, labelled_pools
from tracerank.fitting.folder import REPORT
from tracerank.pools.pool import Pool
from tracerank.runs.atomic import write_json
from tracerank.votes.agents import AgentFigures, AgentTally, Reliabilities
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.folders import remember_fitted
from tracerank.votes.voting import Ballot, MajorityVote

MIN_QUESTIONS = 20
PARTS = 10
"""Each tenth of the questions is decided with what the others say of the agents."""


@dataclass(frozen=True, slots=True)
class AgentFit:
    """What the labels say of the agents."""

    figures: tuple[AgentFigures, ...]
    reliabilities: Reliabilities
    questions: int
    vote: float
    """Share of the questions on which the vote by meaning is right."""
    gain: tuple[float, float, float]
    """What weighing adds on questions that were left out, and its 95% interval."""
    labels: str

    def table(self) -> Table:
        """A row for each agent."""
        known = self.reliabilities
        rows = [(one.agent, one.answers, one.right, known.weight(one.agent)) for one in self.figures]
        rows.sort(key=lambda row: (-row[3], row[0]))
        heads = columns("agent:text, answers:count, right %, weight:precise")
        return Table("agents", f"agents on {self.questions:,} labelled questions", heads, tuple(rows))

    def conclusion(self) -> list[str]:
        """What to expect of it."""
        gain, low, high = (shown(value, POINTS) for value in self.gain)
        figure = f"{gain} points over the vote by meaning ({100 * self.vote:.1f}%), 95% interval {low} to {high}"
        return [
            f"{self.labels[0].upper()}{self.labels[1:]}.",
            f"On questions left out, weighing agents brings {figure}.",
        ]

    def record(self) -> dict[str, Any]:
        """As JSON has it, unrounded."""
        names = ("questions", "vote", "gain", "labels")
        known = {"agents": [asdict(one) for one in self.figures], "reliabilities": asdict(self.reliabilities)}
        return {**known, **{name: getattr(self, name) for name in names}}


def fit_by_agent(
    pools: Iterable[Pool], output: str | Path, *, labels: str | Labelling = AUTO, force: bool = False
) -> AgentFit:
    """Count how often each agent is right, and write the folder of the vote that weighs them."""
    labelling = labels if isinstance(labels, Labelling) else Labelling(labels)
    folder = Path(output)
    clear_folder(folder, force)
    learned, _ = labelled_pools(pools, labelling)
    if len(learned) < MIN_QUESTIONS:
        raise UsageError(f"{len(learned)} labelled questions; --by-agent needs at least {MIN_QUESTIONS}")
    tally, ballots = AgentTally(), [Ballot.of(pool, MeaningGroups()) for pool in learned]
    for ballot in ballots:
        tally.count(ballot)
    figures = tally.figures()
    if not figures:
        raise UsageError(
            "the rollouts are not of several agents that are known by name; name the field that holds the agent with "
            "--map agent=FIELD, or give a file for each agent"
        )
    found = tally.labelled()
    vote, gain = _held_out(ballots, tally)
    remember_fitted(folder, (pool.question.text for pool in learned))
    FittedVote.of_agents(found).save(folder)
    made = AgentFit(tuple(figures), found, len(learned), vote, gain, labelling.sentence.rstrip("."))
    write_json(folder / REPORT, made.record())  # last: its presence means that the folder is complete
    return made


def _held_out(ballots: Sequence[Ballot], tally: AgentTally) -> tuple[float, tuple[float, float, float]]:
    """How often the plain vote is right, and what weighing adds where the question's own labels are not used."""
    plain_vote = FittedVote(MajorityVote(MeaningGroups(), "commonest"))
    plain, weighed = np.zeros(len(ballots)), np.zeros(len(ballots))
    for part in range(PARTS):
        own = range(part, len(ballots), PARTS)
        vote = FittedVote.of_agents(tally.labelled(left_out=own))
        for index in own:
            ballot = ballots[index]
            plain[index] = correct(ballot.pool, plain_vote.counted(ballot))
            weighed[index] = correct(ballot.pool, vote.counted(ballot))
    difference = weighed - plain
    bounds = intervals(difference[:, None])
    return float(plain.mean()), (float(difference.mean()), float(bounds.low[0]), float(bounds.high[0]))
