"""``python -m tests.readers.sdk_logs.make OUT [sdk…]``: run SDKs against the scripted server, keep what they save."""

import importlib
import json
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.questions import QUESTIONS, script
from tests.readers.sdk_logs.run import Lines, Run
from tests.readers.sdk_logs.server import serving

MAKERS = sorted(path.stem for path in (Path(__file__).parent / "makers").glob("[a-z]*.py"))
_ROLLOUTS = 4


def make(out: Path, sdk: str, questions: int = len(QUESTIONS), rollouts: int = _ROLLOUTS) -> None:
    """All logs of one SDK: ``<layout>.jsonl`` with a rollout a line, or ``<layout>/q0r0.jsonl`` with a file each."""
    maker = importlib.import_module(f"tests.readers.sdk_logs.makers.{sdk}")
    folder = out / sdk
    folder.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {}
    expected: list[dict[str, object]] = []
    with serving() as address:
        for question in range(questions):
            for rollout in range(rollouts):
                name = f"q{question}r{rollout}"
                run = Run(name, f"{address}/{name}", script(question, rollout), folder)
                expected.append({"name": name, **run.script.expected()})
                for layout, dump in maker.make(run).items():
                    if isinstance(dump, Lines):
                        _write(folder / layout / f"{name}.{dump.suffix}", [_json(value) for value in dump.values])
                    else:
                        lines.setdefault(layout, []).append(_json(dump))
    for layout, rows in lines.items():
        _write(folder / f"{layout}.jsonl", rows)
    _write(folder / "expected.json", [json.dumps(expected, indent=1)])
    _write(folder / "versions.txt", [f"{package}=={metadata.version(package)}" for package in maker.PACKAGES])


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
    numbers = [int(one.split("=")[1]) for one in arguments if one.startswith("--")]
    out, *wanted = [one for one in arguments if not one.startswith("--")]
    failed = 0
    for sdk in wanted or MAKERS:
        try:
            make(Path(out), sdk, *numbers)
            print(f"{sdk}: made")
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{sdk}: FAILED")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
