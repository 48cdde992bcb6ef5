"""Selectors that choose a meaning first, by votes and evidence, and then which of its wordings is returned.

``table.py`` says what is counted, ``compute.py`` counts it, ``selector.py`` decides. Fitting is ``features/fit.py``'s.
"""
