"""`strands.lock`: written, read, and compared with the installed distributions."""
