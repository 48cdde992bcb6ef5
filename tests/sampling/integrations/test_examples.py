"""The examples of docs/service.md run as they stand."""

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "service.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def run(library: str, namespace: dict[str, Any]) -> None:
    [source] = [text for text in EXAMPLES if f"import {library}" in text or f"from {library}" in text]
    exec(compile(source, f"{PAGE.name} ({library})", "exec"), namespace)


def imported(library: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries deprecate of each other
        return pytest.importorskip(library)


def test_the_langgraph_example_chooses() -> None:
    imported("langgraph.graph")
    run("langgraph", {})


def test_the_dspy_example_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    dspy = imported("dspy")
    model = imported("dspy.utils").DummyLM([{"answer": "Paris"}] * 3)
    with dspy.context(lm=model):
        run("dspy", {})
    assert capsys.readouterr().out == "Paris [0, 1, 2]\n"


def test_the_inspect_example_makes_tasks() -> None:
    imported("inspect_ai")
    namespace: dict[str, Any] = {}
    run("inspect_ai", namespace)
    assert namespace["repeated"].epochs == 8
