"""A chat model as the agent: any OpenAI-compatible endpoint, spoken to in Search-R1's tags or with tool calls."""
