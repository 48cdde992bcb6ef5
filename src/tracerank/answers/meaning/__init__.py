"""WHAT AN ANSWER MEANS: the span that answers, when two answers are one, and whether an answer is right.

Rules on text and the answers of one pool only; no vectors, no model, neither numpy nor torch. Each module builds on
those before it: words, values, relations, spans, choosing, statements, reading, contradiction, comparing, pairs, and
then grouping and rightness.
"""
