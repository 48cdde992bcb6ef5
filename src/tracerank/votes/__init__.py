"""POOL -> DECISION: the ``Method`` protocol, votes and simple choices, groups of equal answers, explanations.

Also what every fitted method shares: its base class and its folder. Nothing here asks a chat model.
"""
