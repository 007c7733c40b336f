"""What authors and operators do with plugins: make, check and install them."""
