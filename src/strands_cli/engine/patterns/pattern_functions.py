"""The functions that run patterns: coroutine functions over `Run`, for each of the core's in a file of its own here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, cast

from strands_cli.catalog.distributions.scan import import_named
from strands_cli.engine.run import Run
from strands_cli.workflow.pattern_model import PatternModel

# Takes the run and its pattern's config, returns the names that artifacts may use, `last_response` among them.
Pattern = Callable[[Run, Any], Awaitable[dict[str, Any]]]


def function_of(pattern: PatternModel) -> Pattern:
    """Return the function that runs a pattern."""
    runs = type(pattern).runs
    return cast(Pattern, _imported(runs) if isinstance(runs, str) else runs)


# Once in a process: the search for a module takes longer than a short run.
_imported = lru_cache(import_named)
