"""Long answers: reports as claims, where the runs agree and disagree, and which report to return.

Rules and counts only: no model, no vectors. ``comparison.py`` is the way in.
"""
