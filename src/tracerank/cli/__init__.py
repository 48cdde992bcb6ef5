"""Thin commands: parse arguments, call one function, print. Nothing here decides anything.

One module a command, and a few for what commands share. Strings become objects only here. What a command needs is
imported when it runs, so that ``--help`` waits for nothing.
"""

import os


def main() -> None:
    """The command ``tracerank``."""
    # Threads that spin while they wait make small steps six times slower on a busy machine (LOG.md).
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Imported here: other modules of this folder are used without building the whole command line.
    from tracerank.cli.app import app

    app(prog_name="tracerank")
