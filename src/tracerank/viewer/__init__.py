"""Pools and decisions as one page that needs no network.

Data and a page: `question_data.py` makes JSON, `page.py` joins it with the assets. Text never becomes markup, and
nothing is decided here.
"""
