"""Selection on Daft and Ray Data: the engines read, partition, schedule and retry; one callable decides."""

from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.select import Counts, select_on_engine

__all__ = ["Counts", "DecidePools", "select_on_engine"]
