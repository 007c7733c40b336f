"""The pattern `talk`: one step several times, then another one."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from strands_cli.api import FormatModel, PatternModel, PlacedStep, Step, Text


class TalkConfig(FormatModel):
    """One step several times."""

    speaker: Step = Field(description="Who speaks.")
    times: int = Field(default=2, ge=1, le=5, description="How often.")
    closing: Step | None = Field(default=None, description="What follows.")


async def talk(run: Any, config: TalkConfig) -> dict[str, Any]:
    """Run the step several times; return the names that artifacts may use."""
    line = ""
    for number in range(config.times):
        line = (await run.step(f"lines.{number}", config.speaker, {"line": str(number + 1)})).response
    if config.closing is not None:
        line = (await run.step("closing", config.closing, {"line": line})).response
    return {"last_line": line, "last_response": line}


class Talk(PatternModel):
    """One step several times."""

    runs = talk
    purpose = "One step runs several times."
    starter = """\
agents:
  poet: {prompt: You write one line., tools: []}

pattern:
  type: talk
  config: {speaker: {agent: poet, input: "Line {{ line }} on {{ topic }}."}, times: 2}
"""
    recording = """\
recording: 1
steps:
  lines.0: [{text: Bees fly.}]
  lines.1: [{text: Bees dance.}]
"""

    type: Literal["talk"] = Field(description="The pattern's name.")
    config: TalkConfig = Field(description="Who speaks, and how often.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield each step once, with the place where a person wrote it; `N` in a key is a number."""
        yield PlacedStep("lines.N", "/pattern/config/speaker", self.config.speaker, {"line": Text()})
        if self.config.closing is not None:
            yield PlacedStep("closing", "/pattern/config/closing", self.config.closing, {"line": Text()})

    def names_at_end(self) -> dict[str, Any]:
        """Return the pattern's own names that artifacts may use."""
        return {"last_line": Text()}
