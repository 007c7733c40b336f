"""The commands about runs beyond one process: submit, workers and queues."""
