"""The chain: steps one after another, each seeing the outputs of those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.workflow.patterns.chain import ChainConfig


async def chain(run: Run, config: ChainConfig) -> dict[str, Any]:
    """Run the steps in order and return the names that artifacts may use."""
    return await run.sequence("steps", config.steps)
