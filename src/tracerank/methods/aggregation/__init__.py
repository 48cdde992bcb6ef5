"""Generative aggregation: a chat model reads what the rollouts did and writes the answer (App. A.2)."""
