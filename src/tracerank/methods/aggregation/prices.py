"""What tokens cost."""

from dataclasses import dataclass

from tracerank.endpoints.messages import Usage


@dataclass(frozen=True, slots=True)
class Prices:
    """What a provider asks for a million tokens, in whatever currency."""

    per_million_prompt: float
    per_million_completion: float

    def __post_init__(self) -> None:
        if not (self.per_million_prompt >= 0 and self.per_million_completion >= 0):
            raise ValueError("prices must not be negative")

    def cost(self, usage: Usage) -> float:
        """What the tokens cost, in the currency of the prices."""
        prompt = usage.prompt_tokens * self.per_million_prompt
        return (prompt + usage.completion_tokens * self.per_million_completion) / 1_000_000
