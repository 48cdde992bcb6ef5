"""Settings of the whole suite."""

import os

# Before torch is imported anywhere: several test processes share few cores, and waiting threads would spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")
