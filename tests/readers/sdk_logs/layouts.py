"""What logs of each layout cannot say, whoever reads them."""

MISSING: dict[str, tuple[str, ...]] = {
    # first scenario
    "claude_code/sdk_messages": ("question",),
    "claude_code/stream_json": ("question",),
    "codex/exec_json": ("question",),
    "crewai/output_log": ("queries", "evidence"),
    "dspy/prediction": ("question",),
    "google_adk/run_events": ("question",),
    "langgraph/stream_updates": ("question",),
    "langgraph/stream_updates_list": ("question",),
    "llama_index/agent_output": ("question", "evidence"),
    "openai_agents/raw_responses": ("question", "evidence"),
    # second scenario
    "crewai/task_output": ("question",),
    "llama_index/output_record": ("evidence",),
    "llama_index/react_output": ("evidence",),
    "openai_raw/chat_completions": ("evidence",),
    "openai_raw/responses_each": ("evidence",),
    "openai_raw/responses_calls": ("evidence",),
    "openai_agents/streamed_items": ("question",),
    "google_adk/transfer_events": ("question",),
    "agno/events": ("question",),
    "vercel_ai/full_stream": ("question",),
    "vercel_ai/step_log": ("question",),
    "langgraph/token_stream": ("question",),
    "langgraph/updates_and_custom": ("question",),
}
