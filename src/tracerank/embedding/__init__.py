"""Text to frozen vectors."""
