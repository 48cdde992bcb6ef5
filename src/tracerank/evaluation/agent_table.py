"""What is known of the agents of mixed pools, as a table."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tracerank.evaluation.tables import Table, columns
from tracerank.votes.agents import AgentFigures, AgentTally

WEIGHED = "`tracerank select --weigh-agents` can weigh them"


def agents_table(figures: Sequence[AgentFigures], *notes: str) -> Table | None:
    """A row for each agent; None: fewer than two are known."""
    if not figures:
        return None
    heads = "agent:text, answers:count, agrees with the others %, right %"
    rows = tuple((one.agent, one.answers, one.agreement, one.right) for one in figures)
    return Table(
        "agents", "agents, by how often their answers mean the same as the others'", columns(heads), rows, notes
    )


def agents_note(tally: AgentTally) -> str:
    """Whether agreement shows how reliable the agents are."""
    objection = tally.objection()
    return WEIGHED if objection is None else f"not to be weighed without labels: {objection}"


def agents_record(tally: AgentTally) -> dict[str, Any]:
    """As JSON has it; empty: fewer than two agents are known."""
    figures = tally.figures()
    return {"agents": [asdict(one) for one in figures], "agents_note": agents_note(tally)} if figures else {}
