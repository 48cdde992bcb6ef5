"""WHICH FAMILY PAYS: the ladder of selectors cross-validated on a user's pools, the rule that picks one, ablations.

Calls the rooms of `selectors/` to fit and `evaluation/` to measure, and writes the folder that comes out. How a family
is fitted stands with the family; no model and no feature is defined here.
"""
