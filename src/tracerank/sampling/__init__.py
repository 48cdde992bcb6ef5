"""One call: an agent is run as often as it pays, several times at once, and the best existing answer is returned.

Running, cancelling and logging. When to stop is decided in ``stopping``, which answer is best by a method.
"""
