"""AutoGen: a team of two, a swarm with a hand-off, states of teams, streams of messages."""

import asyncio
import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("autogen-agentchat", "autogen-ext", "autogen-core")
TOOLS = Toolbox("google_it", "terms", "browse_to", "location", returns.as_json_text(returns.serper))


def make(run: Run) -> dict[str, Any]:
    """Round robin until the word, then a swarm."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.conditions import MaxMessageTermination
    from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info: Any = {
        "vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False
    }  # fmt: skip
    client = OpenAIChatCompletionClient(model="scripted-model", base_url=run.v1, api_key="none", model_info=info)

    def researcher(iterations: int = 6) -> Any:
        return AssistantAgent(
            "researcher",
            client,
            tools=run.script.functions(str, as_text),
            max_tool_iterations=iterations,
            system_message=run.script.system,
        )

    team = RoundRobinGroupChat([researcher()], termination_condition=MaxMessageTermination(2))
    ran = await team.run(task=run.question)
    state = await team.save_state()
    triage = AssistantAgent("triage", client, handoffs=["researcher"], system_message="Hand off.")
    swarm = Swarm([triage, researcher()], termination_condition=MaxMessageTermination(4))
    swarmed = await swarm.run(task=run.question)
    agent = researcher()
    streamed = [item async for item in agent.run_stream(task=run.question)]
    await client.close()
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "team_result": ran.model_dump(mode="json"),
        "team_state": _plain(state),
        "swarm_result": {**about, "result": swarmed.model_dump(mode="json")},
        "swarm_messages": [_plain(message.dump()) for message in swarmed.messages],
        "stream": Lines([item.model_dump(mode="json") for item in streamed]),
        "nested_record": {**about, "run": {"messages": [_plain(one.model_dump()) for one in streamed[-1].messages]}},
        "agent_state_record": {**about, "state": _plain(await agent.save_state())},
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
