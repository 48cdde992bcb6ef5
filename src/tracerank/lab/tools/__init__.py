"""The tools that agents search with, in the paper's two protocols: ranked search, and a browser.

A tool answers a call in text, over any retriever or library. Who calls, and why, is the policies' business.
"""
