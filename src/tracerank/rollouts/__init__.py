"""Making pools."""
