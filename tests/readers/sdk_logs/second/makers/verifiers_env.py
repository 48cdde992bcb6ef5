"""verifiers before 0.2: a ToolEnv with a system prompt, saved results, and the rows of its data set of results."""

import json
import os
from typing import Any

from tests.readers.sdk_logs.run import Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("verifiers",)
TOOLS = Toolbox("search_pages", "query", "view_section", "section_url", returns.wikipedia)
ENDS_WITHOUT_ANSWER = False


def make(run: Run) -> dict[str, Any]:
    """Extra columns of the state are saved, too."""
    import verifiers as vf
    from datasets import Dataset

    async def right(completion: Any, answer: str) -> float:
        return float(completion[-1].get("content") == answer)

    os.environ["SCRIPTED_KEY"] = "none"
    data = Dataset.from_dict({"question": [run.question], "answer": ["the reference of the data set"], "info": ["{}"]})
    rubric = vf.Rubric(funcs=[right])
    tools = run.script.functions(str, as_text)
    env = vf.ToolEnv(dataset=data, tools=tools, rubric=rubric, max_turns=8, system_prompt=run.script.system)
    client = vf.ClientConfig(api_key_var="SCRIPTED_KEY", api_base_url=run.v1)
    saved = run.folder / "work" / run.name
    env.generate_sync(
        env.get_dataset(), client, model="scripted-model", results_path=saved, save_results=True, state_columns=["turn"]
    )
    row = json.loads((saved / "results.jsonl").read_text())
    return {
        "results": row,
        "nested_record": {"question": run.question, "expected": "the reference of the data set", "run": row},
        "prompt_completion": {"prompt": row["prompt"], "completion": row["completion"], "reward": row["reward"]},
    }
