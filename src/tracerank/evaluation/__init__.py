"""RECORDS, THEN NUMBERS: what each method chose on each question, and every table and figure folded from that.

Methods come in as values; which of them there are is not known here. Nothing is fitted, and nothing is rounded before
it is written out as text.
"""
