"""ONE CALL: an agent is run as often as it pays, several times at once, and the best existing answer is returned.

Calling, waiting, cancelling, keeping. When to stop is said in ``stopping``, what is best by a selector; HTTP is above.
"""
