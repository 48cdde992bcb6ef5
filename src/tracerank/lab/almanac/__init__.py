"""REAL FACTS, IN OUR OWN SENTENCES: documents and questions that any reader can check, and agents run on them.

`documents.jsonl` and `questions.jsonl` are what `tracerank corpus build` and `tracerank rollout` read. Questions were
fixed before any selector saw them: difficulty was set by looking at how often single rollouts are right and how often
any of eight is, and questions were taken out only where the rule by meaning cannot tell right from wrong. Nothing is
fitted here, and no question was chosen by who wins it.
"""
