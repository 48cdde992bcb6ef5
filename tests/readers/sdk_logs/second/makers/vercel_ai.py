"""Vercel AI SDK, run in node: steps as a callback gets them, flat lists of calls and results, parts of a stream."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.makers.vercel_ai import versions
from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

__all__ = ["TOOLS", "make", "versions"]
PROGRAM = Path(__file__).with_name("vercel_ai.mjs")
TOOLS = Toolbox(
    "webSearch", "searchQueries", "readPage", "pageUrl", returns.brave, returns.page_markdown, is_batch=True
)
_LINES = ("full_stream", "step_log")


def make(run: Run) -> dict[str, Any]:
    """``NODE_PATH_AI`` names the folder whose ``node_modules`` holds ``ai``, ``@ai-sdk/openai-compatible`` and zod."""
    program = Path(os.environ["NODE_PATH_AI"]) / "second_vercel_ai.mjs"  # node resolves from where it stands
    program.write_text(PROGRAM.read_text())
    told = {
        "base": run.v1,
        "question": run.question,
        "system": run.script.system,
        "answers": bool(run.script.answer),
        "tools": [{"name": one.name, "about": one.about, "schema": one.schema} for one in run.script.tools],
        "calls": [
            {"tool": one.tool, "arguments": dict(one.arguments), "returned": one.returned, "failure": one.failure}
            for one in run.script.steps
        ],
    }
    done = subprocess.run(["node", str(program)], input=json.dumps(told), capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stderr)
    dumps: dict[str, Any] = json.loads(done.stdout)
    return {name: Lines(dump) if name in _LINES else dump for name, dump in dumps.items()}
