"""The journal of a batch: how it runs, its rows with their outcomes, and their order."""
