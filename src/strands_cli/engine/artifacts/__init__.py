"""What a run's journal has of its artifacts: what was written, and the texts where it keeps them."""
