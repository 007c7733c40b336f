"""Loads what a workflow names: 3 tools of 1,000 distributions, planned, imported and compared with their manifests.

Usage: python -m bench.three_of_many FLOW   (with the directory of distributions in PYTHONPATH)
"""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path


def main() -> None:
    """Load the tools of the workflow and print their names."""
    gc.set_threshold(200_000, 20, 20)  # as the command does, and the freezing below (cli/__init__.py)
    from strands_cli import app

    planned = app.plan(Path(sys.argv[1]))
    from strands_cli.tools.tool_loading import load_tools

    tools = planned.agents["only"].tools
    toolbox = asyncio.run(load_tools(tools))
    print(*(loaded.planned.name for tool in tools for loaded in toolbox.get(tool)))
    gc.freeze()


if __name__ == "__main__":
    main()
