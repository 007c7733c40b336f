"""The files of a stored run, wherever it was worked on."""
