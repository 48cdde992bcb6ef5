"""Documents that agents search: read, cut into passages, indexed and opened without loading them.

`base.py` holds the seams behind which any other source may stand. No question, policy or rollout is known here.
"""
