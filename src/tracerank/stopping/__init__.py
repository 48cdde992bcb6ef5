"""When enough rollouts have been run: rules, a session that grows by one rollout at a time, and replays of saved pools.

Whoever makes rollouts lives elsewhere and asks here whether to go on. Nothing here chooses answers: a selector does.
"""
