"""Queues of runs beyond one process: the port that an engine implements, and the engine that is installed."""
