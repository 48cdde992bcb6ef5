"""smolagents: agents for ``tr.best_of``."""

import json
from collections.abc import Callable
from typing import Any

from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.integrations.records import text_of, usage_of


def smolagent(make: Callable[[], Any], **options: Any) -> Callable[[str], Any]:
    """``make`` returns a new agent for each run, since an agent holds one conversation; the options are ``run``'s."""

    def run(question: str) -> AgentRun:
        ended = make().run(question, return_full_result=True, **options)
        usage = usage_of(step["token_usage"] for step in ended.steps if step.get("token_usage"))
        return AgentRun(json.loads(json.dumps(ended.dict(), default=str)), text_of(ended.output), usage)

    return run
