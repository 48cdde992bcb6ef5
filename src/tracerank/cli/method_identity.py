"""What an evaluation remembers of its methods: by which names, checkpoints and chat models they decided."""

from tracerank.cli.methods import METHODS, EqualityName, MethodOptions, own_options
from tracerank.cli.output import digest


def identity(name: str) -> str:
    """A method as the folder remembers it: one with a checkpoint of its own by what that holds."""
    method, is_own, checkpoint = name.partition("=")
    return f"{method}={digest(checkpoint)}" if is_own else method


def model_of(name: str, options: MethodOptions) -> str | None:
    """The model that decides under a name: a checkpoint by its digest, or a chat model; None: rules alone."""
    name, options = own_options(name, options)
    row = METHODS[name]
    if row.takes_folder:
        return " ".join(filter(None, (digest(options.checkpoint), options.encoder)))
    if row.needs == "chat" or name == "weighted":
        return options.chat
    if name == "majority" and options.equality is EqualityName.LLM:
        return options.chat
    if name == "majority" and options.equality is EqualityName.SEMANTIC:
        return options.encoder
    return None
