"""`python -m strands_cli`: the same program as `strands`."""

from __future__ import annotations

import os
import sys


def leave_out_current_directory() -> None:
    """Remove the directory that `-m` puts first from `sys.path`, so that code never comes from a hostile folder."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is not needed yet
    except OSError:  # deleted meanwhile; then `-m` puts an empty string there
        here = ""
    if sys.path and sys.path[0] in ("", here):
        del sys.path[0]


leave_out_current_directory()

from strands_cli.cli import main  # noqa: E402 - after the path is clean

main()
