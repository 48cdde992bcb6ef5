"""What a chat agent is told."""

from tracerank.endpoints.prompts import prompts_of

prompt_text = prompts_of(__name__)
