"""``tracerank mcp``: the selector as tools for other agents, over stdin and stdout."""

from tracerank.cli.arguments import AllowMismatch, Checkpoint, OtherEncoder
from tracerank.cli.serve import MethodChoice
from tracerank.cli.terminal import installed_version
from tracerank.errors import UsageError
from tracerank.selectors.table import MethodOptions, method_named

INSTALL = "pip install 'tracerank[mcp]'"


def mcp(
    checkpoint: Checkpoint = None,
    method: MethodChoice = "selector",
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
) -> None:
    """Speak the Model Context Protocol over stdin and stdout: tools select_rollout and explain_selection."""
    try:
        from tracerank.serving.mcp_server import mcp_server
    except ImportError as error:
        raise UsageError(f"the MCP server needs {error.name}; {INSTALL}") from None
    chosen = method_named(method, MethodOptions(checkpoint, encoder, allow_encoder_mismatch))
    mcp_server(chosen, installed_version()).run()
