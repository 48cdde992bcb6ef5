"""The solver in a real evaluation, with Inspect's own mock model."""

import gc
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracerank.stopping.rules import FixedK
from tracerank.votes.voting import MajorityVote

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.agent import react
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import SolverSpec, generate, solver

    from tracerank.sampling.integrations.inspect_ai import METADATA, best_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SAMPLES = [Sample("Capital of France?", target="Paris", id="fr"), Sample("Capital of Italy?", target="Rome", id="it")]
SAID = {"France": ["Lyon", "Paris", "Paris"], "Italy": ["Rome", "Milan", "Rome"]}


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Inspect leaves streams open: they are collected here, and not in a later test that would fail with a warning."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def model() -> Any:
    """Answers each question with what is said of it, in turn."""
    turns: defaultdict[str, int] = defaultdict(int)

    def output(messages: Any, *rest: Any) -> Any:
        land = next(name for name in SAID if name in messages[-1].text)
        turns[land] += 1
        said = ModelOutput.from_content("mockllm/model", SAID[land][turns[land] - 1])
        said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it would be looked up online
        return said

    return get_model("mockllm/model", custom_outputs=output, memoize=False)


def evaluated(folder: Path, solver: Any) -> Any:
    task = inspect_ai.Task(dataset=SAMPLES, scorer=match())
    [log] = inspect_ai.eval(task, solver=solver, model=model(), log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    return log


def test_the_solver_goes_on_with_the_chosen_run(tmp_path: Path) -> None:
    log = evaluated(tmp_path, best_of(generate(), 3, method=MajorityVote(), rule=FixedK(3)))
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert {sample.output.completion for sample in log.samples} == {"Paris", "Rome"}
    assert {tuple(sample.metadata[METADATA]["group"]) for sample in log.samples} == {(1, 2), (0, 2)}


def test_an_agent_runs_as_a_solver_does(tmp_path: Path) -> None:
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": one}) for one in ("Lyon", "Paris", "Paris")
    ]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    task = inspect_ai.Task(
        dataset=SAMPLES[:1], solver=best_of(react(), 3, method=MajorityVote(), rule=FixedK(3)), scorer=match()
    )
    submitting = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    [log] = inspect_ai.eval(task, model=submitting, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    [sample] = log.samples
    assert sample.output.completion.endswith("Paris")  # after what the mock model says beside its call
    assert len(sample.metadata[METADATA]["group"]) == 2


def test_it_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["entry-points"]
    [(name, target)] = declared["inspect_ai"].items()
    assert target == best_of.__module__
    named = SolverSpec(f"{name}/best_of", {}, {"inner": "generate", "k": 3, "method": "majority"})
    log = evaluated(tmp_path, named)
    assert {sample.output.completion for sample in log.samples} == {"Paris", "Rome"}
    assert log.eval.solver == "tracerank/best_of"


def test_a_structured_reply_is_an_object_in_the_metadata_and_compared_by_its_fields(tmp_path: Path) -> None:
    replies = ['{"city": "Lyon", "year": 1}', '{"city": "Paris", "year": 2}', '{"year": 2, "city": "paris"}']
    outputs = [ModelOutput.from_content("mockllm/model", one) for one in replies]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    chosen = best_of(generate(), 3, rule=FixedK(3))
    task = inspect_ai.Task(dataset=SAMPLES[:1], solver=chosen, scorer=match())
    mock = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    [log] = inspect_ai.eval(task, model=mock, log_dir=str(tmp_path), display="none")
    [sample] = log.samples
    assert sample.metadata[METADATA]["output"] in ({"city": "Paris", "year": 2}, {"city": "paris", "year": 2})
    assert sample.metadata[METADATA]["group"] == [1, 2]


def failing(times: int) -> Any:
    """A solver that fails so many times, then does as the model says."""
    left = [times]

    @solver(name="moody")
    def moody() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            left[0] -= 1
            if left[0] >= 0:
                raise ValueError("the search tool broke")
            return await generate(state)

        return solve

    return moody()


@pytest.mark.parametrize(("times", "status"), [(1, "success"), (4, "error")])
def test_a_failing_fork_is_listed_and_only_when_all_fail_does_the_sample(
    tmp_path: Path, times: int, status: str
) -> None:
    task = inspect_ai.Task(
        dataset=SAMPLES[:1], solver=best_of(failing(times), 4, method=MajorityVote()), scorer=match()
    )
    [log] = inspect_ai.eval(task, model=model(), log_dir=str(tmp_path), display="none")
    assert log.status == status
    if status == "success":
        [sample] = log.samples
        assert sample.output.completion == "Paris"
        assert list(sample.metadata[METADATA]["dropped"].values()) == ["failed: ValueError: the search tool broke"]
    else:
        assert "the search tool broke" in log.error.message
