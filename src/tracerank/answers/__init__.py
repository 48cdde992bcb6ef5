"""WHAT WAS SAID: answers extracted from final texts, normalised, compared in levels, and abstentions recognised.

Knows strings only: no rollouts, no files, neither numpy nor torch. `exact.py` is the paper's rule and changes with
the paper only. `question_profile.py` reads a question, `values.py` and `value_scan.py` the values of a text,
`meaning/` an answer; `strict.py` is the strict mode of that reading, which `equivalence.py` groups by.
"""
