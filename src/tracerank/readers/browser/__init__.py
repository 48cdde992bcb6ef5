"""The search, open and find browser of the paper's browsing setting: its events, page headers, cursors and views.

Used by the formats that log such a browser. Tools of other names and returns of other shapes belong to `calls/`; which
pages are the same document is settled for a whole pool, in `pools/documents.py`.
"""
