"""What methods and judges ask chat models, one text file a prompt, with braces where ``str.format`` puts what differs.

Texts only: how replies are read stands in the module that asks. Prompts of agents live with the agents.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files


def prompts_of(package: str) -> Callable[[str], str]:
    """What gives the texts beside a package's ``__init__`` by name, without the spaces around them."""

    @cache
    def prompt(name: str) -> str:
        return files(package).joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()

    return prompt


prompt_text = prompts_of(__name__)
