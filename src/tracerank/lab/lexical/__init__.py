"""A search agent without a language model; its span scorer is fitted in `studies/shipped_weights/`."""
