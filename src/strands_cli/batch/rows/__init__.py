"""How the rows of a batch end, as values."""
