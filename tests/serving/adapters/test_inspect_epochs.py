"""The solver and the reducer in a real evaluation, with Inspect's own mock model."""

import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tracerank.methods.voting import MajorityVote
from tracerank.serving.adapters.inspect_epochs import METADATA, best_of, picked_by, rollout_record

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, Target, accuracy, match, scorer
    from inspect_ai.solver import generate

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SAMPLES = [Sample("Capital of France?", target="Paris", id="fr"), Sample("Capital of Italy?", target="Rome", id="it")]
SAID = {"France": ["Lyon", "Paris", "Paris"], "Italy": ["Rome", "Milan", "Rome"]}


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


def evaluated(folder: Path, **task: Any) -> Any:
    [log] = inspect_ai.eval(
        inspect_ai.Task(dataset=SAMPLES, **task), model=model(), log_dir=str(folder), display="none"
    )
    assert log.status == "success", log.error
    return log


def test_the_solver_goes_on_with_the_chosen_run(tmp_path: Path) -> None:
    log = evaluated(tmp_path, solver=best_of(generate(), MajorityVote(), k=3), scorer=match())
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert {sample.output.completion for sample in log.samples} == {"Paris", "Rome"}
    assert {tuple(sample.metadata[METADATA]["group"]) for sample in log.samples} == {(1, 2), (0, 2)}


@scorer(metrics=[accuracy()])
def with_rollout() -> Any:
    """The match, with the rollout kept for the reducer."""

    async def score(state: Any, target: Target) -> Score:
        said = state.output.completion
        kept = {METADATA: rollout_record(state)}
        return Score(value="C" if said == target.text else "I", answer=said, metadata=kept)

    return score


@pytest.mark.parametrize("made", [match, with_rollout])
def test_the_reducer_takes_the_score_of_the_chosen_epoch(tmp_path: Path, made: Any) -> None:
    epochs = inspect_ai.Epochs(3, picked_by(MajorityVote()))
    log = evaluated(tmp_path, solver=generate(), scorer=made(), epochs=epochs)
    assert log.results.scores[0].reducer == "picked_by_majority"
    assert log.results.scores[0].metrics["accuracy"].value == 1.0
    assert {score.answer for score in log.reductions[0].samples} == {"Paris", "Rome"}
