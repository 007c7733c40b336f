"""The commands about stored runs: list, show, compare, count, search and report."""
