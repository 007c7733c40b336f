"""One plugin without a workflow: it is loaded in this process, and its tools are called as a run calls them."""
