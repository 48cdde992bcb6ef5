"""HTTP AND MCP: decisions for other programs and for a browser, a chat endpoint, and the retrieval server of a corpus.

Bodies, queues, guards and pages. Reading records, choosing and explaining are done below; nothing here decides.
"""
