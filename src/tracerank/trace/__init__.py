"""TRACE, the paper's selector: encode, propagate, read and score over a graph of what the rollouts share (Sec. 3).

Inside, `graphs/` know no vectors, the net never sees a pool, and `selector.py` is the one bridge between them;
`training/` learns. Variations that are not the paper's belong to `plus/` or are recipes in `graphs/schema.py`.
"""
