"""The tools that agents search with, in text, over any library: ranked search, and a browser."""
