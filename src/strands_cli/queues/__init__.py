"""Queues of runs beyond one process: the port that an engine implements, and the engine that is installed."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)

# What distributions import that bring an engine by an entry point of `strands_cli.engines`.
_PUBLIC = (
    *("Engine", "Handler", "QueueLimits", "QueueState", "RunQueue", "Schedule", "Station", "Ticket", "WorkerState"),
)
