"""Long answers measured: which report is chosen, and how often claims of each class are right."""
