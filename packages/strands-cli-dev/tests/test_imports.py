"""The imports of the commands: `dev.py strands` installs no pytest, which only the standard tests need."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import distribution

PROGRAM = """
import importlib, json, sys
for module in json.loads(sys.argv[1]):
    importlib.import_module(module)
print([name for name in ("pytest", "strands", "_pytest") if name in sys.modules])
"""


def test_no_command_imports_pytest_or_the_sdk() -> None:
    points = distribution("strands-cli-dev").entry_points.select(group="strands_cli.commands")
    modules = sorted({point.module for point in points})
    assert "strands_cli_dev.watch_command" in modules
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(modules)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"
