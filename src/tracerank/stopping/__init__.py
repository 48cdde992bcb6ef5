"""When enough rollouts have been run: rules, a session that grows by one rollout at a time, and replays of saved pools.

Rollouts are made elsewhere, and answers are chosen by a method; here is decided whether to run another rollout.
"""
