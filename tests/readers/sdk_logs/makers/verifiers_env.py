"""verifiers before 0.2: ``results.jsonl`` of a ToolEnv, where ``answer`` is the reference, not what was answered."""

import json
import os
from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("verifiers",)


def make(run: Run) -> dict[str, Any]:
    """One generation a rollout, saved by the library."""
    import verifiers as vf
    from datasets import Dataset

    def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    async def right(completion: Any, answer: str) -> float:
        return float(completion[-1].get("content") == answer)

    os.environ["SCRIPTED_KEY"] = "none"
    reference = "the reference of the data set"
    data = Dataset.from_dict({"question": [run.question], "answer": [reference]})
    env = vf.ToolEnv(dataset=data, tools=[web_search], rubric=vf.Rubric(funcs=[right]), max_turns=5)
    client = vf.ClientConfig(api_key_var="SCRIPTED_KEY", api_base_url=run.v1)
    saved = run.folder / "work" / run.name
    env.generate_sync(env.get_dataset(), client, model="scripted-model", results_path=saved, save_results=True)
    return {"results": json.loads((saved / "results.jsonl").read_text())}
