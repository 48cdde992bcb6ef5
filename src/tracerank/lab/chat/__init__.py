"""A chat model as the agent, spoken to in Search-R1's tags or with tool calls; `endpoints/` talks to the server."""
