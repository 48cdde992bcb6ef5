"""What a chat agent is told, one text file a prompt.

Texts only; which style uses which prompt stands in the style's module. Prompts of methods live with the methods.
"""

from tracerank.endpoints.prompts import prompts_of

prompt_text = prompts_of(__name__)
