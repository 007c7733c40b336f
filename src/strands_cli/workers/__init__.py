"""Runs beyond this process: submitted to the queues of a store, and worked on by workers."""
