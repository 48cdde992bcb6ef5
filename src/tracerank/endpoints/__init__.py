"""ASKING SERVERS: addresses, keys, retries and errors of OpenAI-compatible endpoints, chat and its cache of replies.

Knows nothing of questions or rollouts: the caller decides what is asked. Prompts are read here and written where
they are used. A failed call raises; it never passes for a reply.
"""
