"""DSPy: a signature of several outputs, the prediction inside a record, printed history, callbacks."""

import json
from typing import Any

from tests.readers.sdk_logs.run import Run
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("dspy",)
TOOLS = Toolbox("search_wiki_abstracts", "text", "read_wiki_page", "title_or_url", returns.passages)
ENDS_WITHOUT_ANSWER = False


def make(run: Run) -> dict[str, Any]:
    """``dspy.ReAct``; the evaluation's rows hold example and prediction side by side."""
    import dspy

    model = dspy.LM("openai/scripted-model", api_base=run.v1, api_key="none", cache=False, num_retries=0)
    with dspy.context(lm=model):
        agent = dspy.ReAct("question -> answer", tools=run.script.functions(list), max_iters=6)
        prediction = agent(question=run.question)
    example = dspy.Example(question=run.question, answer="the reference of the data set").with_inputs("question")
    calls = [{"outputs": one["outputs"], "messages": one["messages"]} for one in model.history]
    return {
        "example_prediction": {"example": example.toDict(), "prediction": prediction.toDict(), "score": 1.0},
        "trajectory_record": {
            "question": run.question,
            "gold": "the reference of the data set",
            "prediction": prediction.answer,
            "trajectory": _plain(prediction.trajectory),
        },
        "trajectory_text": {
            "question": run.question,
            "answer": prediction.answer,
            "trajectory": json.dumps(_plain(prediction.trajectory)),
        },
        "history_record": {"question": run.question, "calls": _plain(calls)},
        "evaluation_row": {**example.toDict(), "pred_answer": prediction.answer, **_plain(prediction.trajectory)},
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
