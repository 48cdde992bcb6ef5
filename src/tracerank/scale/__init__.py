"""PAST ONE MACHINE: deciding on batches of rows, on engines that exist, with shards that a dead run leaves whole.

One picklable callable decides (`decide_pools.py`); which rows belong together is planned from Parquet footers and the
columns that name the question (`pieces.py`); what is written and taken up again lies in `shards.py`; Daft and Ray Data
have a module each. No method and no reader lives here, and nothing is computed that `tracerank select` would not.
"""

from tracerank.scale.decide_pools import DecidePools

__all__ = ["DecidePools"]
