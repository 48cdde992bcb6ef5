"""``tracerank lab``: commands for experiments, one module each. They need the extras that they name."""

from tracerank.cli.app import COMMANDS, LAB, LazyGroup

lab = LazyGroup(LAB, "tracerank.cli.lab", name="lab", help=COMMANDS["lab"])
