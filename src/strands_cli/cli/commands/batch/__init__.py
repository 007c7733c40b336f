"""The commands about many runs of one workflow: start them, look at them, continue them."""
