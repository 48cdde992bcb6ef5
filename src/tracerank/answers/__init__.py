"""WHAT WAS SAID: answers extracted from final texts, normalised, compared in levels, abstentions told apart.

Knows strings only: no rollouts, no files, neither numpy nor torch. `exact.py` is the paper's rule and changes with
the paper only; looser rules stand beside it. Pools, readers and methods build on it.
"""
