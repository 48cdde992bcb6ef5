"""What a pool alone tells about its answers, as named numbers, and the selector fitted on them.

`table.py` names the features, the modules beside it count them, `model.py` and `fit.py` make a selector of them. No
vectors, no torch, and nothing that names the agent or the label.
"""
