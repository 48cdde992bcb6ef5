"""``python -m tests.readers.sdk_logs.harbor_job OUT``: a job of Harbor's own, two tasks with two trials each.

Harbor runs, verifies and records; the environment is a folder instead of a container, and the agent plays the script
and saves ATIF by Harbor's models; our plug-in chooses at its end. Needs Harbor and its Python (3.12 or later) in an
environment of its own, with this package and what it imports.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

from harbor.agents.base import BaseAgent
from harbor.cli.job_plugins import attach_job_plugin, finalize_job_plugins
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trajectories import Agent, Observation, ObservationResult, Step, ToolCall, Trajectory
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig

from tests.readers.sdk_logs.questions import QUESTIONS, results, script

_PLUGIN = "tracerank.sampling.integrations.harbor:SelectionPlugin"
_HERE = "tests.readers.sdk_logs.harbor_job"
_TASK = """schema_version = "1.4"
[task]
name = "own/{name}"
[environment]
build_timeout_sec = 60.0
"""
_FOUND = Path("/logs/agent/answer.txt")
_TESTS = 'if grep -qx "{right}" /logs/agent/answer.txt; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt\n'


class FolderEnvironment(BaseEnvironment):
    """A folder that stands for the container's root."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._root = Path(tempfile.mkdtemp())

    @staticmethod
    def type() -> str:
        return "folder"

    def _validate_definition(self) -> None:
        """Needs nothing."""

    def _inside(self, path: str) -> Path:
        return self._root / str(path).lstrip("/")

    async def start(self, force_build: bool) -> None:
        for name in ("logs/agent", "logs/verifier", "logs/artifacts", "tests"):
            self._inside(name).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._inside(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._inside(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._inside(target_dir), dirs_exist_ok=True)
        for script_file in self._inside(target_dir).glob("*.sh"):
            script_file.write_text(script_file.read_text().replace("/logs/", f"{self._root}/logs/"))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(self, command: str, cwd: str | None = None, *_: Any, **__: Any) -> ExecResult:
        for name in ("/logs", "/tests"):
            command = command.replace(name, f"{self._root}{name}")
        done = subprocess.run(["bash", "-c", command], cwd=self._root, capture_output=True, text=True, check=False)
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)


class ScriptedAgent(BaseAgent):
    """Plays the next rollout of a question."""

    SUPPORTS_ATIF = True
    played: ClassVar[Counter[int]] = Counter()

    @staticmethod
    def name() -> str:
        return "scripted"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Needs nothing."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:
        question = next(place for place, asked in enumerate(QUESTIONS) if asked.text in instruction)
        played = script(question, self.played[question])
        self.played[question] += 1
        steps = [Step(step_id=1, source="user", message=instruction)]
        for turn in played.turns:
            queries = tuple(query for step in turn.steps for query in step.queries)
            steps.append(_searched(len(steps) + 1, queries, played.failing))
        steps.append(Step(step_id=len(steps) + 1, source="agent", message=played.answer))
        about = Agent(name=self.name(), version=self.version(), model_name="scripted-model")
        trajectory = Trajectory(session_id=str(self.played[question]), agent=about, steps=steps)
        self.logs_dir.mkdir(parents=True, exist_ok=True)
        (self.logs_dir / "trajectory.json").write_text(json.dumps(trajectory.to_json_dict(), indent=2))
        await environment.exec(f"echo '{played.answer}' > {_FOUND}")
        context.n_input_tokens, context.n_output_tokens = 20, 10


def _searched(number: int, queries: tuple[str, ...], failing: str | None) -> Step:
    calls, seen = [], []
    for place, query in enumerate(queries):
        name = f"call_{number}_{place}"
        calls.append(ToolCall(tool_call_id=name, function_name="web_search", arguments={"query": query}))
        found = "Error: search backend timed out" if query == failing else json.dumps(results(query))
        seen.append(ObservationResult(source_call_id=name, content=found))
    observation = Observation(results=seen)
    return Step(step_id=number, source="agent", message="", tool_calls=calls, observation=observation)


async def _run(folder: Path) -> None:
    tasks = []
    for place, asked in enumerate(QUESTIONS[:2]):
        task = folder / "tasks" / f"question-{place}"
        (task / "tests").mkdir(parents=True)
        (task / "environment").mkdir()
        (task / "environment" / "Dockerfile").write_text("FROM scratch\n")
        (task / "task.toml").write_text(_TASK.format(name=task.name))
        (task / "instruction.md").write_text(f"{asked.text}\n")
        (task / "tests" / "test.sh").write_text(_TESTS.format(right=asked.right))
        tasks.append(TaskConfig(path=task, source="own-questions"))
    config = JobConfig(
        job_name="job",
        jobs_dir=folder / "jobs",
        n_attempts=2,
        n_concurrent_trials=1,
        quiet=True,
        tasks=tasks,
        agents=[AgentConfig(import_path=f"{_HERE}:ScriptedAgent", model_name="scripted-model")],
        environment=EnvironmentConfig(import_path=f"{_HERE}:FolderEnvironment"),
    )
    job = await Job.create(config)
    plugin = await attach_job_plugin(job, _PLUGIN, kwargs={"method": "majority"})
    result = await job.run()
    await finalize_job_plugins([plugin], result)
    decisions = (folder / "jobs" / "job" / "tracerank.jsonl").read_text().splitlines()
    assert len(decisions) == len(tasks), decisions


def main(out: Path) -> None:
    """Leaves the job folder, packed, with what is expected of it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        asyncio.run(_run(folder))
        for path in (folder / "jobs").rglob("*"):
            if path.is_file():
                path.write_text(path.read_text().replace(made, "/project").replace(str(Path.cwd()), "/project"))
        out.mkdir(parents=True, exist_ok=True)
        with tarfile.open(out / "job.tar.gz", "w:gz") as packed:
            packed.add(folder / "jobs" / "job", "job")
    expected = [
        {"name": f"q{question}r{rollout}", **script(question, rollout).expected()}
        for question in range(2)
        for rollout in range(2)
    ]
    (out / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    (out / "versions.txt").write_text(f"harbor=={metadata.version('harbor')}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
