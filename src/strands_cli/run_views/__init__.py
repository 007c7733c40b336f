"""What people see of stored runs, as values: a tree of effects, and what is derived from it."""
