"""Traces of agents: spans in the dialects of OpenTelemetry and of vendors, joined by trace, read as one dialogue.

A dialect is a function from a record to spans and a row in `reader.py`. What evaluators wrote inside a trace is a label
at most. Formats that log messages rather than spans belong to `formats/`.
"""
