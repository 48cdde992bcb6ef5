"""Thin commands: parse arguments, call one function, print. Nothing here decides anything.

One module a command, and a few for what commands share. Strings become objects only here. What a command needs is
imported when it runs, so that ``--help`` waits for nothing.
"""

import gc
import os


def collect_less() -> None:
    """Look for garbage in circles rarely: pools make none, and each look passes all that are held.

    Starting makes a hundred thousand objects that stay; a short command ends before the first look.
    """
    gc.set_threshold(200_000, 5, 50)


def main() -> None:
    """The command ``tracerank``."""
    collect_less()
    # Threads that spin while they wait make small steps six times slower on a busy machine (LOG.md).
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Imported here: other modules of this folder are used without building the whole command line.
    from tracerank.cli.app import app

    try:
        app(prog_name="tracerank")
    finally:
        gc.freeze()  # or the interpreter looks through all of it once more, only to end
