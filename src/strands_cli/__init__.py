"""Run agent workflows written in YAML on the Strands Agents SDK, with tools that are plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.__about__ import __version__ as __version__

if TYPE_CHECKING:
    from strands_cli.api.workflows import Workflow as Workflow
    from strands_cli.catalog.catalog import discover_catalog as discover_catalog
    from strands_cli.policy.decision import PermissionQuestion as PermissionQuestion
    from strands_cli.tools.permission_policy import PermissionPolicy as PermissionPolicy

# Public names and their modules; imported on access, so that `--version` stays fast.
_PUBLIC = {
    "PermissionPolicy": "strands_cli.tools.permission_policy",
    "PermissionQuestion": "strands_cli.policy.decision",
    "Workflow": "strands_cli.api.workflows",
    "discover_catalog": "strands_cli.catalog.catalog",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
