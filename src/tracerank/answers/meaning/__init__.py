"""WHAT AN ANSWER MEANS: the span that answers, when two answers are one, and whether an answer is right.

Rules on text and the answers of one pool only; no vectors, no model, neither numpy nor torch. `words.py` < `values.py` <
`asking.py` < `reading.py` < `comparing.py` < `grouping.py`, `rightness.py`. What a text abstains from is told by
`answers/abstentions.py`; the paper's rule stays in `answers/exact.py`. Nothing here reads files or knows of rollouts.
"""
