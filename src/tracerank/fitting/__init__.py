"""Selectors from the user's own labelled pools: nested comparison of refits, confidence, training, ablations.

Models and features live in ``evidence`` and ``trace``, measures in ``evaluation``; this fits and compares them, and
writes the folders that come out.
"""
