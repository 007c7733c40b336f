"""Many runs of one workflow: its rows are read, run and written, and a journal of the batch knows all of them."""
