"""`strands.lock`: written, read, and compared with what is installed."""
