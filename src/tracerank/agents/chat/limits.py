"""How far a rollout may go before it is asked for its answer."""

from dataclasses import astuple, dataclass

from tracerank.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """What one rollout may use; at a limit the model is asked once more, for its answer."""

    turns: int = 8
    """Replies before that last one, malformed ones included."""
    calls: int = 16
    """Tool calls, failed ones included."""
    reply_tokens: int = 1024
    """Tokens that the model may write in one reply."""
    rollout_tokens: int = 8192
    """Tokens that it may write in all replies together, the last one included."""
    answer_tokens: int = 512
    """Of these, what is kept back for the last reply."""
    return_characters: int = 6000
    """What one tool return shows, without the header of a page."""
    conversation_characters: int = 100_000
    """Length of the conversation from which no reply but the last is asked for: a server's context is finite."""

    def __post_init__(self) -> None:
        if min(astuple(self)) < 1:
            raise UsageError(f"the limits of a rollout must be at least 1, got {self}")
        if self.answer_tokens >= self.rollout_tokens:
            raise UsageError(
                f"{self.rollout_tokens} tokens a rollout leave nothing beside the {self.answer_tokens} for its answer; "
                "allow more for the rollout or fewer for the answer"
            )


DEFAULT_LIMITS = Limits()
