"""ASKING OTHER PEOPLE'S SERVERS: addresses, keys, retries and errors of OpenAI-compatible endpoints."""
