"""`python -m strands_cli`: the same program as `strands`."""

from __future__ import annotations

import sys

# `-m` puts the current directory first; a hostile folder must not become a source of modules or plugins.
if sys.path and sys.path[0] in ("", __import__("os").getcwd()):
    del sys.path[0]

from strands_cli.cli import main

main()
