"""HTTP, MCP AND THE VIEWER: decisions for other programs and for a browser, and the retrieval server of a corpus.

Bodies, queues, guards and pages. Reading records, choosing and explaining are done below; nothing here decides.
"""
