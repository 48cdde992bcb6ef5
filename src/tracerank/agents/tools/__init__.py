"""The tools that agents search with, in the paper's two protocols: ranked search, and a browser."""
