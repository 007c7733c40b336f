"""The commands about many stored runs: compare two, count, search and report them."""
