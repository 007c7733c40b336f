"""The open questions of a stored run, for people who are elsewhere: with commands that answer, and their hook."""
