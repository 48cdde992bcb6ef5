"""How much the service takes and how long it may take: every limit, stated once.

``tracerank serve`` has its defaults and help from here, and a test compares docs/service.md. What enforces them is
elsewhere. Imports nothing that the ``serve`` extra brings: the command line is there without it.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, get_args, get_origin, get_type_hints

MEGABYTE = 2**20
BEST_OF = 8
"""Most samples of a chat completion, unless the service or the request says otherwise."""
UPSTREAM_SECONDS = 600.0
"""Seconds until a chat completion is chosen from what there is; as long as OpenAI's clients wait."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What a request may take and how many are decided together; more is refused with a reason.

    What stands in the type is what users read in help and docs.
    """

    body_bytes: Annotated[int, "Longest body; more gets 413."] = 32 * MEGABYTE
    """Counted as it arrives, whatever length was announced."""
    waiting: Annotated[int, "Requests that may wait; more get 429."] = 256
    """Those that are being read count, too; those at work do not."""
    seconds: Annotated[float, "Seconds until a request gets 504."] = 60.0
    """From the arrival of its last byte: reading, waiting and deciding together."""
    head_bytes: Annotated[int, "Longest head of a request, with its address; more gets 431."] = 64 * 1024
    """What stands around the chunks of a body counts, too, beyond what chunks of any use need."""
    head_seconds: Annotated[float, "Seconds until the head of a request has arrived; more get 408."] = 10.0
    """From the first byte; of a new connection, from its beginning: one that says nothing is closed."""
    arrival_seconds: Annotated[float, "Seconds until its body has arrived, too; more get 408."] = 60.0
    reading_seconds: Annotated[float, "Seconds that a client may leave a reply unread; then it is cut off."] = 30.0
    idle_seconds: Annotated[int, "Seconds that a connection may wait between two requests; then it is closed."] = 5
    closing_seconds: Annotated[int, "Seconds to finish what was accepted when the service ends."] = 20
    """With those until all who called are let in and those until the rest is left, within what Kubernetes grants."""
    batch: Annotated[int, "Most requests decided together."] = 64
    """What the selector scores in one block."""
    part: Annotated[int, "Least requests that a process decides together where others wait for their part."] = 8
    """Smaller batches cost more a pool. Counts only where deciding does not hold up those who read the requests."""
    gather_seconds: Annotated[float, "Seconds that a batch waits for one more of which nothing is known yet."] = 0.001
    longest_seconds: Annotated[float, "Seconds that a batch waits in all, however they keep coming."] = 0.03
    """Meanwhile, and while it is decided, others gather."""
    rollouts: ClassVar[Annotated[int, "Most rollouts of a request; more get 422."]] = 256
    """The same in every service: it stands in the description of requests."""
    samples: ClassVar[Annotated[int, "Most samples of a chat completion; more get 400."]] = 64


DEFAULT_LIMITS = ServiceLimits()


def limits_told() -> dict[str, str]:
    """Each limit by its name, and what users read about it."""
    hints = get_type_hints(ServiceLimits, include_extras=True)
    bare = {name: get_args(hint)[0] if get_origin(hint) is ClassVar else hint for name, hint in hints.items()}
    return {name: get_args(hint)[1] for name, hint in bare.items()}
