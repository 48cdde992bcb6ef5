"""A world with a known truth: entities, facts, pages, questions and agents that err in known ways."""
