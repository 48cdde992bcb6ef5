"""LEARNED METHODS, A ROOM EACH: whatever is fitted on labelled pools, with its model, its fitting and its folder.

Each room builds on those before it: `features/`, `trace/`, `plus/`, then `stack.py` and `gate/`, which wrap others;
`load.py` knows them all by the folder that they write. Methods that learn nothing live in `methods/`; choosing
between families belongs to `fitting/`, and measuring to `evaluation/`.
"""
