"""RECORDS, THEN NUMBERS: what each method chose on each question, and every table and figure folded from that.

Methods come in as values; none is made here, and nothing is fitted. Records come first, tables are folded from them,
and figures become text in `tables.py` only.
"""
