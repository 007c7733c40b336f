"""The tests of a distribution of tools, without strands-cli and the SDK: standard tests, calls, results."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool result in its parts: the status, all of its text, and its last JSON block."""

    status: str
    text: str
    value: dict[str, Any]

    @property
    def error(self) -> tuple[str, str]:
        """The code and the reason of an error result."""
        assert self.status == "error", self
        return self.value["error"]["code"], self.value["error"]["details"]["reason"]

    @property
    def is_retryable(self) -> bool:
        """Whether an error result says that the same call may succeed later."""
        return bool(self.value["error"]["retryable"])


def call_tool(tool: Callable[..., Any], values: Mapping[str, Any], **context_fields: Any) -> ToolAnswer:
    """Call a module tool as a host does, and return its result.

    Args:
        tool: The function of the module with the name of the tool; it may be a coroutine function.
        values: The input.
        **passed: Further values of the host, as in `CallContext`: `config`, `secrets`, `workspace`...
    """
    use = {"toolUseId": "use-1", "name": tool.__name__, "input": dict(values)}
    result = tool(use, strands_cli=context_fields, agent=None)
    if inspect.isawaitable(result):
        result = asyncio.run(_awaited(result))
    assert result["toolUseId"] == "use-1"
    *texts, last = result["content"]
    return ToolAnswer(result["status"], "".join(block["text"] for block in texts), last["json"])


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


class PackageContract:
    """The standard tests of a distribution whose tools are modules: entry points, manifest, schemas, imports.

    Derive from it in a test module, with a name that begins with `Test`.

    Attributes:
        distribution: Its name.
        tools: The names of its tools; each is a module of the package with a function of that name.
        not_imported: The modules that the import of the tools must not load.
    """

    distribution: ClassVar[str]
    tools: ClassVar[tuple[str, ...]]
    not_imported: ClassVar[tuple[str, ...]] = ("strands", "strands_cli", "asyncio", "pydantic")

    @property
    def package(self) -> str:
        """The name for an import."""
        return self.distribution.replace("-", "_")

    def module_of(self, tool: str) -> ModuleType:
        """Import the module of one tool."""
        return importlib.import_module(f"{self.package}.{tool}")

    def manifest(self) -> dict[str, Any]:
        """Read the manifest of the package."""
        top = Path(importlib.import_module(self.package).__file__ or "").parent
        document: dict[str, Any] = json.loads((top / "strands_tools.json").read_text(encoding="utf-8"))
        return document

    def test_the_entry_points_name_every_tool_and_load(self) -> None:
        """A tool without an entry point is not found by anyone."""
        mine = {
            entry.name: entry
            for entry in entry_points(group="strands_cli.tools")
            if entry.dist is not None and entry.dist.name == self.distribution
        }
        assert set(mine) == set(self.tools)
        for name, entry in mine.items():
            assert entry.load() is self.module_of(name)

    def test_the_examples_of_the_manifest_fit_the_schemas(self) -> None:
        """An example that the schema refuses misleads the models that read it."""
        jsonschema = pytest.importorskip("jsonschema")
        assert sorted(tool["name"] for tool in self.manifest()["tools"]) == sorted(self.tools)
        for tool in self.manifest()["tools"]:
            assert tool["examples"], tool["name"]
            for schema in ("input_schema", "output_schema", "config_schema"):
                jsonschema.Draft202012Validator.check_schema(tool[schema])
            for example in tool["examples"]:
                jsonschema.validate(example["input"], tool["input_schema"])

    def test_every_property_of_the_input_is_described(self) -> None:
        """A model knows of a property only its description."""
        for name in self.tools:
            spec = self.module_of(name).TOOL_SPEC
            assert spec["name"] == name
            assert re.fullmatch("[a-z][a-z0-9_]{0,63}", name)
            assert inspect.isfunction(getattr(self.module_of(name), name))
            for field, rule in spec["inputSchema"]["json"]["properties"].items():
                assert rule["description"], f"{name}: {field}"

    def test_importing_the_tools_is_quiet_and_needs_no_host(self) -> None:
        """Start-up pays for every import, and a warning at import is an error in some programs."""
        program = (
            f"import sys, {', '.join(f'{self.package}.{name}' for name in self.tools)}\n"
            f"print([name for name in {self.not_imported!r} if name in sys.modules])"
        )
        command = [sys.executable, "-W", "error", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own interpreter
        assert (done.stdout, done.stderr) == ("[]\n", "")
