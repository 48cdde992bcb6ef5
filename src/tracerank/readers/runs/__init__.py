"""Which records form one run, and which runs are of one question.

``containers.py`` takes objects apart that hold several records, ``transcripts.py`` and ``model_calls.py`` put those
together that are pieces of one run, ``questions.py`` names runs whose log does not say what was asked, and ``pools.py``
makes the pools.
"""
