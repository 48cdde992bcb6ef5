"""``tracerank mcp``: the selector as tools for other agents, over stdin and stdout."""

from tracerank.cli.arguments import AllowMismatch, Checkpoint, OtherEncoder
from tracerank.cli.serve import MethodChoice
from tracerank.cli.version import installed_version
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.selectors.table import MethodOptions, method_named


def mcp(
    checkpoint: Checkpoint = None,
    method: MethodChoice = "selector",
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
) -> None:
    """Speak the Model Context Protocol over stdin and stdout: tools select_rollout and explain_selection."""
    with needed("the MCP server needs", "serve", UsageError):
        from tracerank.serving.mcp_server import mcp_server
    chosen = method_named(method, MethodOptions(checkpoint, encoder, allow_encoder_mismatch))
    mcp_server(chosen, installed_version()).run()
