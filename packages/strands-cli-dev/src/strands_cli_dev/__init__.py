"""For authors of plugins: standard tests, checks, and the commands that make, check, adopt and watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.api import replay_model as replay_model
    from strands_cli_dev.journal_conformance import JournalContract as JournalContract
    from strands_cli_dev.journal_conformance import check_journal as check_journal
    from strands_cli_dev.plugin_check.manifests import BuildManifest as BuildManifest
    from strands_cli_dev.plugin_check.manifests import build_manifests as build_manifests
    from strands_cli_dev.rehearsal import Example as Example
    from strands_cli_dev.standard_tests import contract_exception as contract_exception
    from strands_cli_dev.store_conformance import StoreContract as StoreContract
    from strands_cli_dev.store_conformance import check_store as check_store
    from strands_cli_dev.tool_contract import ToolContract as ToolContract
    from strands_cli_dev.unpacked_plugins import adoptable_tools as adoptable_tools
    from strands_cli_dev.unpacked_plugins import check_unpacked as check_unpacked

__version__ = "0.1.0"

# Imported on first use: a test of a journal needs no tool, and a build no test.
_PUBLIC = {
    "BuildManifest": "strands_cli_dev.plugin_check.manifests",
    "Example": "strands_cli_dev.rehearsal",
    "JournalContract": "strands_cli_dev.journal_conformance",
    "StoreContract": "strands_cli_dev.store_conformance",
    "ToolContract": "strands_cli_dev.tool_contract",
    "adoptable_tools": "strands_cli_dev.unpacked_plugins",
    "build_manifests": "strands_cli_dev.plugin_check.manifests",
    "check_journal": "strands_cli_dev.journal_conformance",
    "check_store": "strands_cli_dev.store_conformance",
    "check_unpacked": "strands_cli_dev.unpacked_plugins",
    "contract_exception": "strands_cli_dev.standard_tests",
    "replay_model": "strands_cli.api",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli_dev' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
