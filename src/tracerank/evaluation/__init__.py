"""Records, then numbers: what each method chose on each question, and the figures folded from that."""
