"""Measured and made outside the package: ``make bench`` (speed/), ``make quality``, shipped_weights/.

Third-party data lies beside the repository, in ``../shared``, or where TRACERANK_SHARED says.
"""

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("TRACERANK_SHARED") or ROOT.parent / "shared")
RESULTS = ROOT / "studies" / "results"
"""Tables that studies write and documents quote."""
