"""POOL -> DECISION: the protocol that everything which decides on a pool satisfies, and the methods that learn nothing.

Votes, groups of equal answers, simple choices, explanations; chat models that aggregate have their room, as have
prompts. Whatever is fitted on labelled pools lives in `selectors/`, and nothing here knows of it.
"""
