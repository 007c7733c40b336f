"""For tests of what plugs into strands-cli: a model that plays recorded turns, and what a journal must do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.agents.replay import ReplayModel as ReplayModel
    from strands_cli.testing.journal import JournalContract as JournalContract
    from strands_cli.testing.journal import check_journal as check_journal

# Imported when asked for: the model brings the SDK, which a test of a journal does not need.
_PUBLIC = {
    "JournalContract": "strands_cli.testing.journal",
    "ReplayModel": "strands_cli.agents.replay",
    "check_journal": "strands_cli.testing.journal",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli.testing' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
