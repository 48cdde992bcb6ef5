"""``tracerank lab``: commands for experiments, one module each. They need the extras that they name."""

from tracerank.cli.app import LAB, Table

lab = Table("lab", LAB, help="Commands for experiments: generated worlds, agents, corpora, ablations.")
