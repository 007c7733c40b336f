"""Batches in a store: their names and ids, opening one, looking at it, its end."""
