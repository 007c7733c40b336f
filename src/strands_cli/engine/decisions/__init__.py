"""What a person decides about a stored run: answers, and what to do with interrupted calls."""
