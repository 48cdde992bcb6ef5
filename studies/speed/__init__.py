"""Paired measurements of speed and memory against a straightforward twin: ``make bench``."""
