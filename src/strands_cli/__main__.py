"""`python -m strands_cli`: the same program as `strands`."""

from __future__ import annotations

import os
import sys


def leave_out_current_directory() -> None:
    """Take the directory that `-m` put first out of `sys.path`: a hostile folder must not become a source of code."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is not needed yet
    except OSError:  # deleted meanwhile; then `-m` has put an empty string there
        here = ""
    if sys.path and sys.path[0] in ("", here):
        del sys.path[0]


leave_out_current_directory()

from strands_cli.cli import main  # noqa: E402 - after the path is clean

main()
