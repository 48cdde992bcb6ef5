"""Learning to select: losses, examples on disk, resumable fitting.

Sees pools only in `examples.py`, which writes them as graphs and vector rows. Which settings the paper trains with
stands in `settings.py`, one folder up; which family is worth training is for `fitting/`.
"""
