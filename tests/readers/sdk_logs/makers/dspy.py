"""DSPy: the prediction of ReAct with its trajectory, and the history of the language model."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("dspy",)


def make(run: Run) -> dict[str, Any]:
    """``dspy.ReAct`` with one tool; the chat adapter's text protocol."""
    import dspy

    def web_search(query: str) -> list[dict[str, str]]:
        """Search the web."""
        return run.found(query)

    model = dspy.LM("openai/scripted-model", api_base=run.v1, api_key="none", cache=False, num_retries=0)
    with dspy.context(lm=model):
        agent = dspy.ReAct("question -> answer", tools=[web_search], max_iters=5)
        prediction = agent(question=run.question)
    history = json.loads(json.dumps(model.history, default=str))
    return {
        "prediction": prediction.toDict(),
        "with_question": {"question": run.question, **prediction.toDict()},
        "history": history,
    }
