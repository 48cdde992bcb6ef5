"""Real facts in our own sentences: documents and questions that any reader can check. Nothing is fitted here."""
