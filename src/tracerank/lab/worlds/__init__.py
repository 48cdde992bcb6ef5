"""A world with a known truth and agents that err in known ways; its figures show nothing about real agents."""
