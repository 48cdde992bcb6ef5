"""The prompts of chat agents, one text file each."""

from tracerank.chat.prompts import prompts_of

prompt_text = prompts_of(__name__)
NAMES = (
    *("tags", "tags_go_on", "tags_invalid", "tags_unsearched", "tags_last_turn"),
    *("browser", "tools", "tools_ask", "tools_cut", "tools_invalid", "tools_unsearched", "tools_untagged", "last_turn"),
)
