"""What a well-formed workflow can still get wrong."""
