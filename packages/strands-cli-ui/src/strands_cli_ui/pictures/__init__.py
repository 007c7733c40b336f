"""A run as pictures show it, as values: its timeline, its pattern, its costs and its budget."""
