"""Find the workflows of a folder that use tools of a distribution, or what else they name of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from strands_cli.catalog.catalog import Catalog
from strands_cli.config import Settings
from strands_cli.default_parts import PROVIDERS
from strands_cli.errors import StrandsCliError
from strands_cli.parts.named_parts import parts_of
from strands_cli.planning.folders.workflow_folder import is_workflow
from strands_cli.planning.machine.installation import without_policy
from strands_cli.planning.machine.lock_check import parts_in
from strands_cli.planning.plan_builder import build_plan
from strands_cli.planning.planned_tools.planned_tool import InstalledTool
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.workflow_tools.tool_parts import agents_in, with_parts
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import SUFFIXES, read_document


class Uses(NamedTuple):
    """What a workflow uses of a distribution: the names of its tools, and phrases such as "the pattern `debate`"."""

    tools: list[str]
    parts: list[str]


def workflows_naming(name: str, folder: Path, catalog: Catalog, settings: Settings) -> dict[Path, Uses]:
    """Return the workflows of a folder that use something of a distribution, with what it is; skip invalid files."""
    found: dict[Path, Uses] = {}
    for path in sorted(folder.iterdir()):
        uses = _uses(path, name, catalog, settings) if path.suffix in SUFFIXES and path.is_file() else Uses([], [])
        if uses.tools or uses.parts:
            found[path] = uses
    return found


def _uses(path: Path, name: str, catalog: Catalog, settings: Settings) -> Uses:
    try:
        document = read_document(path)
        loaded = load_spec(document) if is_workflow(document) else None
        if loaded is None or loaded.spec is None:
            return Uses([], [])
        planned = build_plan(loaded, without_policy(catalog, settings), RunRequest())
        parts = parts_in([planned], catalog.seen)
    except StrandsCliError:
        return Uses([], [])
    tools = (tool for tool in with_parts(planned.called()) if isinstance(tool, InstalledTool))
    providers = {agent.model.provider for agent in (*planned.agents.values(), *agents_in(planned.called()))}
    parts += [part for part in parts_of(PROVIDERS, catalog.seen) if part.name in providers]
    return Uses(
        sorted({tool.name for tool in tools if tool.distribution == name}),
        sorted({str(part) for part in parts if part.distribution == name}),
    )
