"""The text of a new agent's file, with a contract and a test that passes without a model."""

from __future__ import annotations

import json

_TEXT = """\
# yaml-language-server: $schema=agent.schema.json
name: {name}
version: 2
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


def new_agent(name: str) -> str:
    """Return the text of a new agent's file."""
    # In quotes, since YAML reads some words as something else than text.
    return _TEXT.format(name=json.dumps(name))
