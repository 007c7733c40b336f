"""Find the workflows of a folder that use tools of a distribution."""

from __future__ import annotations

from pathlib import Path

from strands_cli.catalog.catalog import Catalog
from strands_cli.config import Settings
from strands_cli.errors import StrandsCliError
from strands_cli.planning.folders.workflow_folder import is_workflow
from strands_cli.planning.machine.installation import without_policy
from strands_cli.planning.plan_builder import build_plan
from strands_cli.planning.planned_tools.planned_tool import InstalledTool
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.workflow_tools.tool_parts import with_parts
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import SUFFIXES, read_document


def workflows_naming(name: str, folder: Path, catalog: Catalog, settings: Settings) -> dict[Path, list[str]]:
    """Return the workflows of a folder that use tools of a distribution, with these tools; skip invalid files."""
    found: dict[Path, list[str]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES and path.is_file() and (tools := _tools(path, name, catalog, settings)):
            found[path] = tools
    return found


def _tools(path: Path, name: str, catalog: Catalog, settings: Settings) -> list[str]:
    try:
        document = read_document(path)
        spec = load_spec(document).spec if is_workflow(document) else None
        machine = without_policy(catalog, settings)
        planned = build_plan(spec, document, machine, RunRequest()) if spec is not None else None
    except StrandsCliError:
        return []
    tools = with_parts(planned.called()) if planned is not None else ()
    return sorted({tool.name for tool in tools if isinstance(tool, InstalledTool) and tool.distribution == name})
