"""What is stored when a run starts, and compared when it continues."""
