"""The selectors that come with the package, each a folder as ``tracerank fit`` would write it, with a card.

Data only, no code: `load.py` reads them like any other folder. What makes them stands in `studies/shipped_weights/`.
"""
