"""Queues of runs beyond one process: the port that an engine implements, and the engine that is installed."""

from strands_cli.queues.queue_port import (
    Engine,
    Handler,
    QueueLimits,
    QueueState,
    RunQueue,
    Schedule,
    Station,
    Ticket,
    WorkerState,
)

__all__ = [
    "Engine",
    "Handler",
    "QueueLimits",
    "QueueState",
    "RunQueue",
    "Schedule",
    "Station",
    "Ticket",
    "WorkerState",
]
