"""The patterns by name; each is a coroutine function over `Run` in a file of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from strands_cli.engine.patterns.chain import chain
from strands_cli.engine.patterns.evaluator_optimizer import evaluator_optimizer
from strands_cli.engine.patterns.graph import graph
from strands_cli.engine.patterns.orchestrator_workers import orchestrator_workers
from strands_cli.engine.patterns.parallel import parallel
from strands_cli.engine.patterns.routing import routing
from strands_cli.engine.patterns.workflow import workflow
from strands_cli.engine.run import Run

# Takes the run and its pattern's config, returns the names that artifacts may use, `last_response` among them.
Pattern = Callable[[Run, Any], Awaitable[dict[str, Any]]]

PATTERNS: dict[str, Pattern] = {
    "chain": chain,
    "workflow": workflow,
    "routing": routing,
    "parallel": parallel,
    "evaluator_optimizer": evaluator_optimizer,
    "orchestrator_workers": orchestrator_workers,
    "graph": graph,
}
