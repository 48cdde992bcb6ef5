"""WHAT AN ANSWER MEANS: the span that answers, when two answers are one, and whether an answer is right.

Rules on text and the answers of one pool only; no vectors, no model, neither numpy nor torch. Each module builds on
those before it: words, values, measures, spans, profile, choosing, reading, comparing, granularity, anchors,
pairs, aliases, and then grouping and rightness. Abstentions are recognised by `answers/abstentions.py`; the
paper's rule stays in `answers/exact.py`.
"""
