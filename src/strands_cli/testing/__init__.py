"""Tests for authors of plugins, journals and stores: a model that plays recorded turns, and standard tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.agents.model.replay import ReplayModel as ReplayModel
    from strands_cli.plugins.check.build_manifest import BuildManifest as BuildManifest
    from strands_cli.plugins.check.build_manifest import build_manifests as build_manifests
    from strands_cli.testing.journal_conformance import JournalContract as JournalContract
    from strands_cli.testing.journal_conformance import check_journal as check_journal
    from strands_cli.testing.rehearsal import Example as Example
    from strands_cli.testing.standard_tests import contract_exception as contract_exception
    from strands_cli.testing.store_conformance import StoreContract as StoreContract
    from strands_cli.testing.store_conformance import check_store as check_store
    from strands_cli.testing.tool_contract import ToolContract as ToolContract

# Imported on first use: the model imports the SDK, which a test of a journal does not need.
_PUBLIC = {
    "BuildManifest": "strands_cli.plugins.check.build_manifest",
    "Example": "strands_cli.testing.rehearsal",
    "JournalContract": "strands_cli.testing.journal_conformance",
    "ReplayModel": "strands_cli.agents.model.replay",
    "StoreContract": "strands_cli.testing.store_conformance",
    "ToolContract": "strands_cli.testing.tool_contract",
    "build_manifests": "strands_cli.plugins.check.build_manifest",
    "check_journal": "strands_cli.testing.journal_conformance",
    "check_store": "strands_cli.testing.store_conformance",
    "contract_exception": "strands_cli.testing.standard_tests",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli.testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
