"""The directory in which a stored run of a program continues: the one where it was started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.engine.stored_runs.last_place import worked_on
from strands_cli.errors import UsageError

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal


def require_same_directory(journal: StoredJournal) -> None:
    """Check that this process is in the directory where the run began; a program has to change to it by itself.

    Raises:
        UsageError: It is in another one, where the run's relative paths would mean other files.
    """
    began, here = Path(journal.get("directory") or Path.cwd()), Path.cwd()
    if began.resolve() == here.resolve():
        return
    message = f"the run {journal.get('id')} was started in {began}, and this program is in {here}"
    if began.is_dir():
        raise UsageError(message, fix=f"call os.chdir({str(began)!r}) first")
    where = worked_on(journal)
    there = "" if where is None or where.is_here or where.worker else f"continue it on {where.machine}, or "
    fix = f"{there}call os.makedirs({str(began)!r}) first, put the files there that it reads, and os.chdir to it"
    raise UsageError(f"{message}; this machine does not have that directory", fix=fix)
