"""A search agent without a language model: samples queries, reads ranked chunks, samples an answer from them."""
