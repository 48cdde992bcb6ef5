"""Thin commands: parse arguments, call one function, print. Nothing here decides anything."""

import os


def main() -> None:
    """The command ``tracerank``."""
    # Threads that spin while they wait make small steps six times slower on a busy machine (LOG.md).
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Imported here: other modules of this folder are used without building the whole command line.
    from tracerank.cli.app import app

    app(prog_name="tracerank")
