"""AG2: a group chat with a selector, the messages that an agent keeps, a run's events."""

from typing import Any

from tests.readers.sdk_logs.run import Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("ag2",)
TOOLS = Toolbox("search_arxiv", "search_query", "download_page", "uri", returns.ruled)


def make(run: Run) -> dict[str, Any]:
    """Two agents; a group chat of the two beside it."""
    from autogen import ConversableAgent, GroupChat, GroupChatManager, register_function

    config = {"model": "scripted-model", "api_key": "none", "base_url": run.v1}

    def pair() -> tuple[Any, Any]:
        researcher = ConversableAgent(
            "researcher", system_message=run.script.system, llm_config={"config_list": [config]}
        )
        user = ConversableAgent(
            "user_proxy",
            llm_config=False,
            human_input_mode="NEVER",
            is_termination_msg=lambda message: not message.get("tool_calls"),
        )
        for function in run.script.functions(str, as_text):
            name = function.__name__
            register_function(function, caller=researcher, executor=user, name=name, description="Looks it up.")
        return researcher, user

    researcher, user = pair()
    result = user.initiate_chat(researcher, message={"content": run.question}, max_turns=8)
    other, proxy = pair()
    chat = GroupChat([proxy, other], messages=[], max_round=10, speaker_selection_method="round_robin")
    manager = GroupChatManager(chat, llm_config=False, is_termination_msg=_is_last)
    proxy.initiate_chat(manager, message=run.question)
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "agent_messages": next(iter(researcher.chat_messages.values())),
        "group_messages": chat.messages,
        "nested_record": {**about, "run": {"chat_history": result.chat_history, "summary": result.summary}},
        "by_agent": {**about, "messages": {one.name: kept for one, kept in researcher.chat_messages.items()}},
    }


def _is_last(message: dict[str, Any]) -> bool:
    return message.get("name") == "researcher" and not message.get("tool_calls")
