"""Codex: its two logs with other tools; inside a record, and as a list."""

from typing import Any

from tests.readers.sdk_logs.makers.codex import executed, versions
from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

__all__ = ["TOOLS", "make", "versions"]
TOOLS = Toolbox(
    "brave_web_search", "query", "fetch_markdown", "url", returns.as_json_text(returns.brave), more={"count": 3}
)


def make(run: Run) -> dict[str, Any]:
    """Thinking and words beside calls are kept by the command as items of their own."""
    printed, kept = executed(run)
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "exec_record": {**about, "events": printed},
        "session": Lines(kept),
        "session_list": kept,
        "nested_record": {**about, "run": kept},
    }
