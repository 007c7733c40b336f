"""This machine, as Python offers it: files written whole and those to protect, processes, threads."""
