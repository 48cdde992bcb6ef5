"""What a pool alone tells about its answers: votes, support in the evidence, effort, shape and form, as numbers."""
