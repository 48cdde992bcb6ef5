"""A chat model as the agent, spoken to in Search-R1's tags; `endpoints/` talks to the server."""
