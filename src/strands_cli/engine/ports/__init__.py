"""What the engine needs from other packages and from the machine."""
