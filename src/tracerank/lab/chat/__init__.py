"""A chat model as the agent: any OpenAI-compatible endpoint, spoken to in Search-R1's tags or with tool calls.

Keeps the conversation and lets the readers read it, so that a pool just made and one read from a log agree. Talking to
the server is left to `endpoints/`.
"""
