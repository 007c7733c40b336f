"""YAML text to a `Document` with line and column of each node, and the files that a run has stored."""
