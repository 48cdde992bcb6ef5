"""One module a transcript format: how to recognise its records, and how to read one as a rollout.

A format finds the question, the calls and the last words; what those mean is read in the rooms below. A format may lean
on another one, never on `detect.py`, where each has a row. Nothing here opens files.
"""
