"""What makes the weights that ship, from ../shared: the feature selectors, kinds of answers, the span scorer."""
