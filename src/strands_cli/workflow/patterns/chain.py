"""The chain: steps one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from strands_cli.workflow.pattern_model import (
    CONFIG,
    STEP,
    Items,
    PatternModel,
    PlacedStep,
    Scope,
    Text,
    last_of_steps,
    results_of,
    steps_in_order,
)
from strands_cli.workflow.sections import FormatModel
from strands_cli.workflow.steps import Step

STARTER = """\
agents:
  writer:
    prompt: You write short and plain.
    tools: []   # such as [native:file_read]; `strands list-tools` shows what is installed

pattern:
  type: chain
  config:
    steps:
      - agent: writer
        input: Three facts about {{ topic }}.
      - agent: writer
        input: |
          Write one paragraph from these facts:
          {{ steps[0].response }}

outputs:
  overwrite: true   # a run replaces the file of the run before
  artifacts:
    - {path: "{{ name }}.md", from: "{{ last_response }}"}
"""
RECORDING = """\
recording: 1
steps:
  steps.0: [{text: "They dance. They keep their hive at 35 degrees. They store honey."}]
  steps.1: [{text: "Bees dance to tell where flowers are, keep their hive warm, and store what they find as honey."}]
"""


class ChainConfig(FormatModel):
    """Steps one after another; each sees the answers of those before it."""

    steps: tuple[Step, ...] = Field(min_length=1, description="The steps, in order.")


class Chain(PatternModel):
    """Steps one after another."""

    runs = "strands_cli.engine.patterns.chain:chain"
    purpose = "Steps one after another; each sees the answers of those before it."
    starter = STARTER
    recording = RECORDING
    is_bounded = True
    runs_every_step = True

    type: Literal["chain"] = Field(description="The pattern's name.")
    config: ChainConfig = Field(description="The steps.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the steps."""
        yield from steps_in_order("steps", f"{CONFIG}/steps", self.config.steps)

    def names_at_end(self) -> Scope:
        """Return the results of the steps."""
        return {"steps": Items(STEP, len(self.config.steps), results_of(self.config.steps))}

    def last_answer(self) -> Text:
        """Return the answer of the last step."""
        return last_of_steps(self.config.steps)
