"""Makes the file of a new agent, with a contract and a test that passes without a model."""

from __future__ import annotations

import json
from pathlib import Path

from strands_cli.plugins.scaffold.new_file import require_name, write_new
from strands_cli.workflow.format_schema import agent_schema

SCHEMA = "agent.schema.json"
_TEXT = """\
# yaml-language-server: $schema={schema}
name: {name}
version: 1
description: Says in one sentence what a text is about.
# provider: openai         # for a live model; `strands doctor` shows which keys are set
# model_id: gpt-4.1-mini
prompt: |
  You say in one sentence what a text is about, and how sure you are, from 0 to 1.
input_schema: {{type: string, minLength: 1}}
output_schema:
  type: object
  properties:
    summary: {{type: string}}
    confidence: {{type: number, minimum: 0, maximum: 1}}
  required: [summary, confidence]
tests:
  - name: a text is summed up
    input: The bees of hive 2 brought in forty kilos of lime honey.
    recording:
      - text: '{{"summary": "Hive 2 made forty kilos of lime honey.", "confidence": 0.9}}'
    expect:
      contains: lime honey
      schema: {{properties: {{confidence: {{minimum: 0.5}}}}}}
  - name: an empty text is refused
    input: ""
    expect: {{error: bad_input}}
"""


def make_agent(name: str, directory: Path, *, force: bool = False) -> list[Path]:
    """Write the file of an agent and the schema for editors; return their paths.

    A schema that exists stays unchanged.

    Raises:
        UsageError: The name is not valid.
        ArtifactError: The file exists and `force` is false, or cannot be written.
    """
    require_name(name, "an agent")
    # In quotes, since YAML reads some words as something else than text.
    texts = {f"{name}.yaml": _TEXT.format(schema=SCHEMA, name=json.dumps(name))}
    return write_new(texts, directory, (SCHEMA, agent_schema), force=force)
