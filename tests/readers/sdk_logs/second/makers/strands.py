"""Strands Agents: the file session manager's folder, the result, a stream of events, on the Anthropic API's shapes."""

import json
import shutil
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("strands-agents",)
TOOLS = Toolbox(
    "kb_query", "q", "http_request", "url", returns.as_json_text(returns.openai_vector_store), returns.page_object
)


def make(run: Run) -> dict[str, Any]:
    """The session of each rollout is put together as the files of its folder lie in order."""
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel
    from strands.session.file_session_manager import FileSessionManager

    model = OpenAIModel(client_args={"api_key": "none", "base_url": run.v1}, model_id="scripted-model")
    tools = [tool(function) for function in run.script.functions(str, as_text)]
    home = run.folder / "work" / run.name
    sessions = FileSessionManager(session_id=run.name, storage_dir=str(home))
    agent = Agent(
        model=model, tools=tools, callback_handler=None, session_manager=sessions, system_prompt=run.script.system
    )
    result = agent(run.question)
    files = sorted(home.rglob("message_*.json"), key=lambda path: int(path.stem.split("_")[1]))
    kept = [json.loads(path.read_text()) for path in files]
    shutil.rmtree(home)
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "session_messages": Lines(kept),
        "nested_record": {**about, "run": agent.messages},
        "with_system": {"system_prompt": run.script.system, "messages": agent.messages},
        "result": _plain({**about, "conversation": agent.messages, "result": result.to_dict()}),
        "result_state": _plain(
            {**about, "stop_reason": result.stop_reason, "message": result.message, "history": agent.messages}
        ),
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
