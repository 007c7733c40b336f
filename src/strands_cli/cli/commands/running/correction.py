"""What `resume --spec` does before the run continues: check the corrected workflow, report, ask and store it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.running.trust_command import require_trust
from strands_cli.cli.output.messages import say
from strands_cli.cli.text_layout import one_line

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.engine.run_start.corrected_workflow import Correction


def correct_run(journal: StoredJournal, file: str, changes: Mapping[str, Any], *, quiet: bool) -> None:
    """Give a stored run its corrected workflow; nothing is stored unless the run can continue with it.

    Raises:
        StrandsCliError: The run cannot continue with it.
    """
    import asyncio

    from strands_cli import app
    from strands_cli.engine.correction_trial import require_rehearsed
    from strands_cli.engine.run_start.corrected_workflow import read_correction

    found = app.plan_correction(journal, read_correction(journal, file), changes)
    if not quiet:
        for line in found.lines():
            say(one_line(line))
    asyncio.run(require_rehearsed(journal, found))
    _require_trust(found, may_ask=not changes.get("detach"))
    found.store(journal)


def _require_trust(found: Correction, *, may_ask: bool) -> None:
    """Ask about what the corrected workflow starts and opens, unless that is what the run began with."""
    from strands_cli.planning.data_flow.workflow_trust import Trust

    before, after = Trust.of(found.before), Trust.of(found.after)
    if (before.authority.digest, before.authority.places) != (after.authority.digest, after.authority.places):
        require_trust(found.after, may_ask=may_ask)


def name_of(file: str, typed_in: Path) -> str:
    """Return the name of a file that a person has typed in another directory than the one of the run."""
    if file == "-" or typed_in.resolve() == Path.cwd().resolve():
        return file
    return str(typed_in / file)
