"""Files on which a plan depends, to plan again when one changes, and the workspace of its tools."""
