"""The package keeps its promises: manifest, entry points and calling contract agree with the code."""

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

PACKAGE = "strands_tool_NAME"
DISTRIBUTION = "strands-tool-NAME-WITH-DASHES"
# One harmless call of each tool.
CALLS: dict[str, dict[str, Any]] = {"NAME": {"text": "three small words"}}


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
    assert set(mine) == set(CALLS)
    for name, entry in mine.items():
        assert entry.load() is module_of(name)


def test_the_manifest_says_what_the_code_says() -> None:
    told = manifest()
    assert (told["manifest_version"], told["api"], told["distribution"]) == (1, {"min": 1, "max": 1}, DISTRIBUTION)
    assert [tool["name"] for tool in told["tools"]] == sorted(CALLS)
    for tool in told["tools"]:
        spec = module_of(tool["name"]).TOOL_SPEC
        assert tool["entry"] == f"{PACKAGE}.{tool['name']}"
        assert tool["description"] == spec["description"]
        assert tool["input_schema"] == spec["inputSchema"]["json"]
        assert tool["output_schema"] == spec["outputSchema"]["json"]
        assert tool["annotations"] == spec["annotations"]
        assert tool["strands_cli"] == spec["strands_cli"]


def test_the_examples_of_the_manifest_fit_the_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for tool in manifest()["tools"]:
        assert tool["examples"]
        jsonschema.Draft202012Validator.check_schema(tool["input_schema"])
        jsonschema.Draft202012Validator.check_schema(tool["output_schema"])
        jsonschema.Draft202012Validator.check_schema(tool["config_schema"])
        for example in tool["examples"]:
            jsonschema.validate(example["input"], tool["input_schema"])


@pytest.mark.parametrize("name", CALLS)
def test_a_call_keeps_the_contract_and_the_output_schema(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a")
    module = module_of(name)
    result = getattr(module, name)({"toolUseId": "use-1", "name": name, "input": CALLS[name]}, agent=None, anything=1)
    assert (result["toolUseId"], result["status"]) == ("use-1", "success")
    *texts, last = result["content"]
    assert all(isinstance(block["text"], str) for block in texts)
    jsonschema.validate(last["json"], module.TOOL_SPEC["outputSchema"]["json"])
    json.dumps(result)


def test_every_property_of_the_schema_is_described_or_plain() -> None:
    for name in CALLS:
        spec = module_of(name).TOOL_SPEC
        assert re.fullmatch("[a-z][a-z0-9_]{0,63}", spec["name"])
        assert spec["name"] == name
        assert inspect.isfunction(getattr(module_of(name), name))
        for rule in spec["inputSchema"]["json"]["properties"].values():
            assert rule["description"]


def test_importing_the_tools_is_quiet_and_needs_no_host() -> None:
    program = (
        f"import sys, {', '.join(f'{PACKAGE}.{name}' for name in CALLS)}\n"
        "print([name for name in ('strands', 'strands_cli', 'asyncio', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", CALLS)
def test_a_plain_strands_agent_can_call_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = pytest.importorskip("strands.tools.registry")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a")
    registry = tools.ToolRegistry()
    registry.process_tools([module_of(name)])
    tool = registry.registry[name]
    assert tool.tool_spec["name"] == name

    async def last_event() -> Any:
        use = {"toolUseId": "use-1", "name": name, "input": CALLS[name]}
        return [event async for event in tool.stream(use, {"agent": None})][-1]

    import asyncio

    event = asyncio.run(last_event())
    assert event.tool_result["status"] == "success"
    assert event.tool_result["toolUseId"] == "use-1"
