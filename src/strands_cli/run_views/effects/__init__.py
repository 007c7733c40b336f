"""One whole effect of a stored run by its key: what it read, called, answered and cost."""
