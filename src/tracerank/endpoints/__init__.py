"""ASKING SERVERS: addresses, keys, retries and errors of OpenAI-compatible endpoints, chat and its cache of replies.

Knows nothing of questions or rollouts: the caller decides what is asked. A failed call raises; it never passes for a
reply.
"""
