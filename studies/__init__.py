"""Measured and made outside the package: speed/ (``make bench``), quality/ (``make quality``), shipped_weights/."""
