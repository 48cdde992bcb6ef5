"""Layouts of the second scenario that are not read fully yet, with what goes wrong; each leaves when it is read."""

GAPS: dict[str, str] = {
    "langgraph/buffer_string": "wrong: answer, queries, evidence, silently",
    "langgraph/default_str": "refused",
    "langgraph/last_message_and_steps": "partly: evidence, told",
    "langgraph/pretty_text": "refused",
    "llama_index/context": "refused",
    "llama_index/react_memory": "refused",
    "smolagents/code_messages": "wrong: answer, queries, evidence, told",
    "smolagents/gaia_line": "partly: queries, evidence, told",
    "smolagents/memory_messages": "partly: queries, evidence, told",
}
