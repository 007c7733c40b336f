"""What tools declare about themselves, and what the arguments of a call name."""
