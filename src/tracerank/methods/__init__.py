"""Pool to decision: selectors, votes and, later, aggregators."""
