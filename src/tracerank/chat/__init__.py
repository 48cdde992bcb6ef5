"""Generative aggregation: a chat model reads what the rollouts did and writes or judges the answer (App. A.2).

All of them ask through `asking.py`, which quotes texts of others safely and counts tokens. Votes are not here, nor are
the addresses and retries of servers, which belong to `endpoints/`.
"""
