"""The package keeps its promises, besides those that every tool makes: entry points, examples, a light import."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PACKAGE = "strands_tool_spec_verify"
DISTRIBUTION = "strands-tool-spec-verify"
TOOLS = ("spec_verify",)


def manifest() -> dict[str, Any]:
    top = Path(importlib.import_module(PACKAGE).__file__ or "").parent
    return json.loads((top / "strands_tools.json").read_text(encoding="utf-8"))


def module_of(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


def test_the_entry_points_name_every_tool_and_load() -> None:
    mine = {
        entry.name: entry
        for entry in entry_points(group="strands_cli.tools")
        if entry.dist is not None and entry.dist.name == DISTRIBUTION
    }
    assert set(mine) == set(TOOLS)
    for name, entry in mine.items():
        assert entry.load() is module_of(name)


def test_the_examples_of_the_manifest_fit_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for tool in manifest()["tools"]:
        assert tool["examples"]
        jsonschema.Draft202012Validator.check_schema(tool["input_schema"])
        jsonschema.Draft202012Validator.check_schema(tool["output_schema"])
        jsonschema.Draft202012Validator.check_schema(tool["config_schema"])
        for example in tool["examples"]:
            jsonschema.validate(example["input"], tool["input_schema"])


def test_every_property_of_the_schema_is_described_or_plain() -> None:
    for name in TOOLS:
        spec = module_of(name).TOOL_SPEC
        assert re.fullmatch("[a-z][a-z0-9_]{0,63}", spec["name"])
        assert spec["name"] == name
        assert inspect.isfunction(getattr(module_of(name), name))
        for rule in spec["inputSchema"]["json"]["properties"].values():
            assert rule["description"]


def test_importing_the_tools_is_quiet_and_needs_no_host() -> None:
    program = (
        f"import sys, {', '.join(f'{PACKAGE}.{name}' for name in TOOLS)}\n"
        "print([name for name in ('strands', 'strands_cli', 'asyncio', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
