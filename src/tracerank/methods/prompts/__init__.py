"""What methods ask chat models, with braces where ``str.format`` puts what differs."""

from tracerank.endpoints.prompts import prompts_of

prompt_text = prompts_of(__name__)
