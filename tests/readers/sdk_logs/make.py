"""``python -m tests.readers.sdk_logs.make OUT [sdk…]``: run SDKs against the scripted server, keep what they save."""

import importlib
import json
import sys
import traceback
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.questions import FIRST
from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.scenario import Scenario
from tests.readers.sdk_logs.second.scenario import SECOND
from tests.readers.sdk_logs.server import serving

SCENARIOS = {"first": FIRST, "second": SECOND}


def make(out: Path, sdk: str, scenario: Scenario = FIRST, questions: int = 0, rollouts: int = 0) -> None:
    """All logs of one SDK: ``<layout>.jsonl`` with a rollout a line, or ``<layout>/q0r0.jsonl`` with a file each."""
    maker = importlib.import_module(f"{scenario.makers}.{sdk}")
    scripts = partial(scenario.script, maker=maker)
    folder = out / sdk
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    expected: list[dict[str, object]] = []
    with serving(scripts) as address:
        for question in range(questions or scenario.questions):
            for rollout in range(rollouts or scenario.rollouts):
                name = f"q{question}r{rollout}"
                run = Run(name, f"{address}/{name}", scripts(question, rollout), folder)
                expected.append({"name": name, **run.script.expected()})
                for layout, dump in maker.make(run).items():
                    if isinstance(dump, Lines):
                        _write(folder / layout / f"{name}.{dump.suffix}", [_json(value) for value in dump.values])
                    else:
                        lines.setdefault(layout, []).append(_json(dump))
    for layout, rows in lines.items():
        _write(folder / f"{layout}.jsonl", rows)
    _write(folder / "expected.json", [json.dumps(expected, indent=1)])
    _write(folder / "versions.txt", _versions(maker))


def _versions(maker: Any) -> list[str]:
    """What a maker ran: packages of this environment, or what it says of a command of another language."""
    if hasattr(maker, "versions"):
        return list(maker.versions())
    return [f"{package}=={metadata.version(package)}" for package in maker.PACKAGES]


def _json(value: Any) -> str:
    """One line; what an SDK saved as text is taken as it is."""
    return value.replace("\n", " ") if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _write(path: Path, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    here = str(Path.cwd()).rstrip("/")
    text = "\n".join(rows).replace(str(path.parent.parent), "/logs").replace(here, "/project")
    path.write_text(text + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Makes the logs that are named, or all; an SDK that fails is told and the others go on."""
    options = dict(one.removeprefix("--").split("=") for one in arguments if one.startswith("--"))
    scenario = SCENARIOS[options.pop("scenario", "first")]
    out, *wanted = [one for one in arguments if not one.startswith("--")]
    failed = 0
    for sdk in wanted or scenario.sdks():
        try:
            make(Path(out), sdk, scenario, **{name: int(number) for name, number in options.items()})
            print(f"{sdk}: made")
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{sdk}: FAILED")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
