"""HTTP AND MCP: decisions for other programs over FastAPI and MCP, and a proxy for chat completions."""
