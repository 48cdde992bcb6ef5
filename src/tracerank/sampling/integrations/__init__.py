"""Other frameworks: their agents for ``tr.best_of``, a solver for Inspect and a plugin for Harbor."""
