"""Check the text of a workflow whose author may not read this machine's files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli import app
from strands_cli.catalog.resolution import TOOL_UNMET
from strands_cli.errors import Finding, StrandsCliError
from strands_cli.planning.data_flow.secret_values import MISSING_SECRET
from strands_cli.planning.environment import MISSING_MOUNT
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.findings import BAD_VALUE
from strands_cli.yaml_files.document_reader import FileSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strands_cli.workflow.sections import Secret

# An author who may not read a path must not learn whether it exists.
_OF_PATHS = (MISSING_MOUNT,)
_NAMES_A_PROGRAM = re.compile(r"/tools/mcp/\d+/command")
_SECRET = re.compile(r"/env/secrets/(\d+)")


def check_text(
    text: str, *, base_dir: str | Path | None = None, name: str = "workflow", machine: bool = False
) -> tuple[Finding, ...]:
    """Return the findings about the text of a workflow, without reading a file that it names.

    Each file that it names (agents, schemas, recordings, skills) is a warning `file-not-read`. No finding reveals
    whether a file or a program that only the text names exists.

    Args:
        text: The workflow, YAML or JSON.
        base_dir: The directory against which its paths are resolved; the current one by default.
        name: The name of the text in findings.
        machine: Whether to check also the tools, providers and keys that it needs, as `plan` does.
    """
    folder = Path(base_dir) if base_dir is not None else Path.cwd()
    snapshot, source = FileSnapshot(folder, is_all=True), f"<{name}>"
    try:
        loaded = app.load(source, text, snapshot)
        if not machine or loaded.valid is None:
            return tuple(loaded.findings)
        planned = app.plan(loaded, RunRequest(as_written=True))
        secrets = planned.spec.env.secrets
        return tuple(finding for finding in planned.findings if _may_be_shown(finding, secrets))
    except StrandsCliError as error:
        return tuple(error.findings) or (Finding(BAD_VALUE, error.message, None, error.fix),)


def _may_be_shown(finding: Finding, secrets: Sequence[Secret]) -> bool:
    """Return whether a finding reveals nothing about files and programs of this machine that only the text names."""
    pointer = finding.where.pointer if finding.where and finding.where.pointer else ""
    if finding.code in _OF_PATHS:
        return False
    if finding.code == TOOL_UNMET and _NAMES_A_PROGRAM.match(pointer):
        return False
    match = _SECRET.match(pointer)
    return not (finding.code == MISSING_SECRET and match and secrets[int(match[1])].source in ("file", "command"))
