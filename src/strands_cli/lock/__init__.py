"""What was reviewed and may run: `strands.lock`, written, read, and held against what is installed."""
