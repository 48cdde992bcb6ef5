"""Vercel AI SDK, run in node: response messages, steps, UI messages and the UI message stream."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.questions import results
from tests.readers.sdk_logs.run import Run

PROGRAM = Path(__file__).with_name("vercel_ai.mjs")


def versions() -> list[str]:
    """Of the packages that node loads."""
    modules = Path(os.environ["NODE_PATH_AI"]) / "node_modules"
    packages = ("ai", "@ai-sdk/openai-compatible")
    return [f"{name}=={json.loads((modules / name / 'package.json').read_text())['version']}" for name in packages]


def make(run: Run) -> dict[str, Any]:
    """``NODE_PATH_AI`` names the folder whose ``node_modules`` holds ``ai``, ``@ai-sdk/openai-compatible`` and zod."""
    home = Path(os.environ["NODE_PATH_AI"])
    program = home / PROGRAM.name  # node resolves modules from where the program stands
    program.write_text(PROGRAM.read_text())
    told = {
        "base": run.v1,
        "question": run.question,
        "failing": run.script.failing,
        "found": {query: results(query) for query in run.script.queries},
    }
    done = subprocess.run(
        ["node", str(program)], input=json.dumps(told), capture_output=True, text=True, check=True, timeout=60
    )
    dumps: dict[str, Any] = json.loads(done.stdout)
    return dumps
