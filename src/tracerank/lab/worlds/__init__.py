"""A world with a known truth: entities, facts, pages, questions and agents that err in known ways.

Deterministic for a seed and without a model. It makes pools to test and to teach on, and shows nothing about real
agents; no test may take its figures for theirs.
"""
