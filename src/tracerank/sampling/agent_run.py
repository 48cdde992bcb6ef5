"""The result of one run of an agent: its transcript, its answer as text and as an object, and its tokens."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from tracerank.deciding import Given
from tracerank.endpoints.chat import Usage
from tracerank.readers.base import Record

Agent = Callable[[Any], Any]
"""Takes a question; returns, awaited or not, an answer, a transcript, a rollout, or an ``AgentRun``."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What an agent may return when a transcript alone does not say everything."""

    transcript: Given | Sequence[Record]
    """An answer, a rollout, a record or a conversation in any readable form; None: no answer."""
    answer: str | None = None
    """Overrides the answer in the transcript; None: read it from there."""
    usage: Usage | None = None
    """Tokens of the run; None: unknown, or stated by the rollout."""
    output: Any = None
    """The answer as the agent's library returned it, perhaps an object; ``answer`` is its text. None: unknown."""

    @classmethod
    def of_output(cls, transcript: Record, output: Any, usage: Usage | None) -> "AgentRun":
        """A run whose answer is ``output``, an object or a text; None: the answer is in the transcript."""
        answer = _spelled(output)
        return cls({**transcript, "final_output": answer}, answer, usage, output)


def run_of(returned: Any) -> Any:
    """What an agent returned; a result of the OpenAI Agents SDK or of Pydantic AI as a run."""
    if hasattr(returned, "to_input_list") and hasattr(returned, "final_output"):
        record, output = {"input": returned.input, "items": returned.to_input_list()}, returned.final_output
        used = returned.context_wrapper.usage
    elif hasattr(returned, "all_messages_json") and hasattr(returned, "output"):
        record, output = {"messages": json.loads(returned.all_messages_json())}, returned.output
        used = returned.usage() if callable(returned.usage) else returned.usage
    else:
        return returned
    return AgentRun.of_output(record, output, tokens(used.input_tokens, used.output_tokens, used.requests))


def _spelled(output: Any) -> str | None:
    """An answer as text; the fields of an object as JSON, by which such answers are compared."""
    if output is None or isinstance(output, str):
        return output and output.strip()
    if hasattr(output, "model_dump"):
        output = output.model_dump(mode="json")
    elif is_dataclass(output) and not isinstance(output, type):
        output = asdict(output)
    if isinstance(output, Mapping) and len(output) == 1:
        return _spelled(next(iter(output.values())))
    if isinstance(output, Mapping | Sequence):
        return json.dumps(output, ensure_ascii=False, default=str)
    return str(output).strip()


def tokens(prompt: int, reply: int, calls: int) -> Usage | None:
    """Tokens of a run; None: nothing was counted."""
    return Usage(prompt, reply, max(calls, 1)) if prompt or reply else None
