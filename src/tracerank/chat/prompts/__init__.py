"""What methods and judges ask chat models, one text file a prompt, with braces where ``str.format`` puts what differs.

Texts only: how replies are read stands in the module that asks. Prompts of agents live with the agents.
"""

from tracerank.endpoints.prompts import prompts_of

prompt_text = prompts_of(__name__)
