"""Selectors from the user's own labelled pools: nested comparison of refits, confidence, training, ablations."""
