"""The selector that ships: which meaning is right, by votes, evidence and the kind of answer that is wanted.

``text`` and ``forms`` look for answers in texts, ``support`` and ``kinds`` count, ``table`` makes one row per meaning,
``model`` scores the rows, ``fit`` fits the model, ``confidence`` calibrates, ``selector`` decides, ``gaps`` lists what
is missing. It needs numpy alone. ``shipped/`` is a folder like those that `tracerank fit` writes.
"""
