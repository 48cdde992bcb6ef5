"""verifiers from 0.2 on: the trace's record with other tools, whole and inside a record."""

from typing import Any

from tests.readers.sdk_logs.makers import verifiers_trace
from tests.readers.sdk_logs.run import Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("verifiers",)
TOOLS = Toolbox("browse_encyclopedia", "phrase", "full_entry", "entry", returns.as_json_text(returns.passages))


def make(run: Run) -> dict[str, Any]:
    """The same loop as the first scenario's."""
    record = verifiers_trace.make(run)["traces"]
    return {"traces": record, "nested_record": {"id": run.name, "question": run.question, "run": record}}
