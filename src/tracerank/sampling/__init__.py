"""An agent is run while it pays, several times at once, and the best existing answer is returned."""
