"""The toy pattern in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from tests.patterns.toy.workflow_side import TalkConfig


async def talk(run: Run, config: TalkConfig) -> dict[str, Any]:
    """Speak, then ask for the last word."""
    said = [await run.step(f"talk.{number}", config.speaker, {"line": number + 1}) for number in range(config.times)]
    lines = [line.response for line in said]
    names: dict[str, Any] = {"lines": lines, "last_response": lines[-1]}
    if config.last_word is not None:
        answer = (await run.step("last_word", config.last_word, names)).response
        names |= {"hitl_response": answer, "last_response": answer}
    return names
