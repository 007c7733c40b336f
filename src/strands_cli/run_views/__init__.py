"""Stored runs as values for people: a tree of effects, one effect, files, questions and their commands."""
