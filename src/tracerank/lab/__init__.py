"""MAKING POOLS: questions, corpora, tools and policies that sample rollouts, and worlds whose truth is known.

An agent ends with rollouts as a reader would have read them. Nothing here chooses between answers, and no policy
imports a selector.
"""
