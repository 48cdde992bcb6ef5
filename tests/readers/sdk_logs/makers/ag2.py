"""AG2: ``ChatResult.chat_history`` of two agents that talk until the tool calls are over."""

from typing import Any

from tests.readers.sdk_logs.run import Run

PACKAGES = ("ag2",)


def make(run: Run) -> dict[str, Any]:
    """The caller's messages carry the tool calls, the executor's the returns."""
    from dataclasses import asdict

    from autogen import ConversableAgent, register_function

    def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    config = {"model": "scripted-model", "api_key": "none", "base_url": run.v1}
    assistant = ConversableAgent("assistant", llm_config={"config_list": [config]})
    user = ConversableAgent(
        "user",
        llm_config=False,
        human_input_mode="NEVER",
        is_termination_msg=lambda message: not message.get("tool_calls"),
    )
    register_function(web_search, caller=assistant, executor=user, name="web_search", description="Search the web.")
    result = user.initiate_chat(assistant, message=run.question, max_turns=6)
    return {"chat_history": result.chat_history, "chat_result": asdict(result)}
