"""Everything that talks to a chat model, tried with a real one: rollouts in every style; what settles them comes after.

Not in CI: the model is a file that whoever tries it brings. `rollouts.py` makes pools and counts what became of them,
`steps.py` lists what a trial does, `server.py` serves the file.
"""
