"""Documents that agents search: read, cut into passages, indexed and opened without loading them."""
