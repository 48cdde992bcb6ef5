"""Pools that are not clear: what evidence they lack, and another method for them alone.

Whatever looks at a decision that was made and says what to do about it lives here. Nothing here scores an answer or
learns, and no selector knows of it: a select without ``--escalate`` never comes by.
"""
