"""Making pools: questions, corpora, tools and policies that sample rollouts, and worlds whose truth is known."""
