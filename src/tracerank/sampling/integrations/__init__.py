"""Other agent frameworks, one module each: their agents for ``tr.best_of``, and methods in their own terms.

The framework is imported when it is used, never before.
"""
