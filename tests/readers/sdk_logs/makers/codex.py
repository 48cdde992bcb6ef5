"""Codex: the lines of ``exec --json`` and the session file (the rollout file) that it keeps."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.search_mcp import environment_of

_LONGEST = 400
_CONFIG = """model = "scripted-model"
model_provider = "scripted"
approval_policy = "never"
[model_providers.scripted]
name = "scripted"
base_url = "{address}"
wire_api = "responses"
[mcp_servers.web]
command = "{python}"
args = ["-m", "tests.readers.sdk_logs.search_mcp"]
cwd = "{cwd}"
default_tools_approval_mode = "approve"
env = {{ TOOLS = {tools} }}
"""


def versions() -> list[str]:
    """Of the command."""
    said = subprocess.run([os.environ["CODEX"], "--version"], capture_output=True, text=True, check=True).stdout
    return ["==".join(said.split())]


def make(run: Run) -> dict[str, Any]:
    """The command is the one that ``CODEX`` names; its home is a folder of its own."""
    printed, kept = executed(run)
    return {"exec_json": Lines(printed), "session": Lines(kept)}


def executed(run: Run, *more: str) -> tuple[list[Any], list[Any]]:
    """What ``exec --json`` prints, and the lines of the session's file."""
    home = (run.folder / "work" / run.name).resolve()
    (home / "cwd").mkdir(parents=True, exist_ok=True)
    tools = json.dumps(environment_of(run.script))
    config = _CONFIG.format(address=run.v1, python=sys.executable, cwd=Path.cwd(), tools=tools)
    (home / "config.toml").write_text(config)
    done = subprocess.run(
        [os.environ["CODEX"], "exec", "--json", "--skip-git-repo-check", *more, "-C", str(home / "cwd"), run.question],
        env={"HOME": str(home), "CODEX_HOME": str(home), "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    session = next((home / "sessions").rglob("*.jsonl"))
    kept = [json.loads(line) for line in session.read_text().splitlines()]
    shutil.rmtree(home)
    return _shortened(printed), _shortened(kept)


def _shortened(value: Any) -> Any:
    """Without the long instructions that the command writes into its logs; what the script said stays."""
    if isinstance(value, dict):
        return {key: _shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one) for one in value]
    is_ours = not isinstance(value, str) or "example." in value
    return value if is_ours or len(value) <= _LONGEST else value[:_LONGEST] + "…"
