"""TRACE, the paper's selector, module by module as Section 3: recipe, graph, batch, net, losses, data, train.

Graphs know no vectors, the network never sees a pool, and ``selector.py`` is the bridge between them. Every variation
of the paper is a row of values in ``recipe.py``.
"""
