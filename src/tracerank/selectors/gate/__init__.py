"""The vote with a calibrated confidence, and a gate that lets a selector leave it only where a gain is expected.

Wraps any selector and knows none by its inside: it looks at decisions, votes and scores. Choosing a gate is done here,
on decisions for questions that the selector was not fitted on; fitting the selector itself is not.
"""
