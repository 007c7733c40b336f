"""Makes the file of a new agent: with a contract, and a test that passes without a model."""

from __future__ import annotations

import json
import re
from pathlib import Path

from strands_cli.errors import ArtifactError, UsageError

SCHEMA = "agent.schema.json"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
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
  - name: nothing is no text
    input: ""
    expect: {{error: bad_input}}
"""


def make_agent(name: str, directory: Path, *, force: bool = False) -> list[Path]:
    """Write the file of an agent and the schema that editors check it with; return what was written.

    A schema that lies there is left as it is.

    Raises:
        UsageError: the name is none.
        ArtifactError: the file exists and `force` is not given, or cannot be written.
    """
    if not _NAME.fullmatch(name):
        fix = "begin with a letter; then letters, digits, '_' and '-'"
        raise UsageError(f"{name!r} cannot be the name of an agent", fix=fix)
    file, schema = directory / f"{name}.yaml", directory / SCHEMA
    if file.exists() and not force:
        raise ArtifactError(f"{file} exists", fix="choose another name, or overwrite with --force")
    # In quotes, since YAML reads some words as something else than text.
    texts = {file: _TEXT.format(schema=SCHEMA, name=json.dumps(name))}
    if not schema.exists():
        from strands_cli.spec.schema import agent_schema

        texts[schema] = json.dumps(agent_schema(), indent=2, ensure_ascii=False) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ArtifactError(f"{error.filename or directory} cannot be written: {error.strerror}") from error
    return list(texts)
