"""Everything that talks to a chat model, tried with a real one: rollouts in every style, and what settles them.

Not in CI: the model is a file that whoever tries it brings. `rollouts.py` makes pools and counts what became of them,
`steps.py` holds the table, `settling.py` what asks the model about pools, `server.py` serves the file.
"""
