"""Graph to scores: encode, propagate, read, score."""
