"""Writes the file of a new agent, and the schema for editors beside it."""

from __future__ import annotations

from pathlib import Path

from strands_cli.plugins.scaffold.new_file import require_name, write_new
from strands_cli.workflow.format_schema import agent_schema

SCHEMA = "agent.schema.json"


def write_agent(name: str, text: str, directory: Path, *, force: bool = False) -> list[Path]:
    """Write the file of an agent and the schema for editors, `agent.schema.json`; return their paths.

    A schema that exists stays unchanged.

    Raises:
        UsageError: The name is not valid.
        ArtifactError: The file exists and `force` is false, or cannot be written.
    """
    require_name(name, "an agent")
    return write_new({f"{name}.yaml": text}, directory, (SCHEMA, agent_schema), force=force)
