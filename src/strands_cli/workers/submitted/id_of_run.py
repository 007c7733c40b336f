"""The ids that people give to submitted runs: a worker makes a folder of each, and shells read them."""

from __future__ import annotations

import re

from strands_cli.errors import UsageError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# What `runs show last` and others mean by it.
_NEWEST = "last"


def require_id(run_id: str) -> None:
    """Do nothing if a text may be the id of a submitted run.

    Raises:
        UsageError: It has characters that would lead out of the folder of runs, or be others in a shell.
    """
    if _ID.fullmatch(run_id) and run_id != _NEWEST:
        return
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", run_id)[:100].strip("-._")
    fix = f"--id {name if name not in ('', _NEWEST) else 'nightly'}"
    raise UsageError(
        f"{run_id!r} is not an id of a run: up to 100 letters, digits, '.', '_' and '-', and not {_NEWEST!r}", fix=fix
    )
