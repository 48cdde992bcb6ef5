"""A report as one page for the browser: tables, and charts that are drawn here, without a library and without scripts.

Figures are folded elsewhere (``report.py``, ``gains.py``, ``calibration.py``); here they become markup. Every name is
somebody else's and is escaped.
"""
