"""The command line: modules here parse arguments, call a function of the library, and print.

One module a command; what a command needs is imported when it runs, so that ``--help`` waits for nothing.
"""

import gc
import os
import sys


def main() -> None:
    """The command ``tracerank``."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (a caller may close it)
    gc.set_threshold(200_000, 5, 50)  # pools hold no cycles, and each collection passes over all of them
    # Threads that spin while they wait make small steps six times slower on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from tracerank.cli.app import app

    try:
        app(prog_name="tracerank")
    finally:
        gc.freeze()  # otherwise the interpreter looks through all objects once more while it ends
