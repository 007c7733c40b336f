"""The toy pattern in a workflow: one agent speaks several times, then a person may say the last word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from strands_cli.workflow.findings import no_effect
from strands_cli.workflow.pattern_model import (
    ANY,
    CONFIG,
    Items,
    PatternModel,
    PlacedStep,
    Scope,
    StepEdge,
    optional_step,
    scope_of,
)
from strands_cli.workflow.sections import FormatModel
from strands_cli.workflow.steps import AgentStep, GateStep

if TYPE_CHECKING:
    from strands_cli.errors import Finding
    from strands_cli.workflow.findings import Locator


class TalkConfig(FormatModel):
    """One agent speaks several times."""

    speaker: AgentStep = Field(description="Who speaks.")
    times: int = Field(ge=1, description="How often.")
    last_word: GateStep | None = Field(default=None, description="A gate at the end.")


class Talk(PatternModel):
    """One agent speaks several times."""

    runs = "tests.patterns.toy.engine_side:talk"
    purpose = "One agent speaks several times."
    starter = """\
agents:
  poet: {prompt: You write one line., tools: []}

pattern:
  type: talk
  config:
    speaker: {agent: poet, input: "Line {{ line }} on {{ topic }}."}
    times: 2
    last_word: {type: hitl, prompt: "{{ lines[-1] }} Good?"}
"""
    recording = """\
recording: 1
steps:
  talk.0: [{text: Bees fly.}]
  talk.1: [{text: Bees dance.}]
"""
    reserved = frozenset({"line", "lines"})

    type: Literal["talk"] = Field(description="The pattern's name.")
    config: TalkConfig = Field(description="Who speaks, and how often.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the speech, and the last word."""
        yield PlacedStep("talk.N", f"{CONFIG}/speaker", self.config.speaker, scope_of("line"))
        yield from optional_step("last_word", self.config.last_word, self.names_at_end())

    def names_at_end(self) -> Scope:
        """Return the lines."""
        return {"lines": Items(ANY)}

    def edges(self) -> list[StepEdge]:
        """Return the loop, and the order."""
        return [StepEdge("talk.N", "talk.N", "again"), *super().edges()]

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Report a repetition that is not one."""
        if self.config.times == 1:
            yield no_effect("speaking once is a chain", locator.where(f"{CONFIG}/times"), "use `type: chain`")

    def limits(self) -> Iterator[str]:
        """Yield how often the agent speaks."""
        yield f"It speaks {self.config.times} times."
