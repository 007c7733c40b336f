"""The names of tools in rules, and the distributions that they mean."""
