"""The files of a plugin index: their names, their limits, and what is not one."""
