"""A search agent without a language model: samples queries, reads ranked chunks, samples an answer from them.

Its span scorer is fitted in `studies/shipped_weights/`. It searches through any retriever and knows no corpus on disk.
"""
