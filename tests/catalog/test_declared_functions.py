"""A tool that its distribution declares is known as well as one that a person adopts: what loading finds, before it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.distributions.entry_points import find_package
from strands_cli.catalog.from_source import tools_in
from tests.distributions import make_distribution

FUNCTION = '''
from typing import Literal, Optional

from strands import tool


@tool
def search(query: str, limit: int = 10, kind: Literal["web", "news"] = "web", site: Optional[str] = None) -> str:
    """Search for pages.

    Args:
        query: What is searched for.
        limit: How many pages.
    """
    return query
'''
RENAMED = """
from strands import tool, ToolContext


@tool(name="search", description="Looks.", context=True)
async def look(words: list[str], tool_context: ToolContext) -> str:
    return str(words)
"""
AGENT_TOOL = '''
from strands.types.tools import AgentTool

SPEC = {"name": "search", "description": "Search for pages.",
        "inputSchema": {"json": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}


class Search(AgentTool):
    """A class that searches."""

    @property
    def tool_name(self):
        return "search"

    @property
    def tool_spec(self):
        """The spec."""
        return SPEC

    @property
    def tool_type(self):
        return "python"

    async def stream(self, tool_use, invocation_state, **kwargs):
        yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": "found"}]}


made = Search()
'''
SPELT = AGENT_TOOL.replace("return SPEC", "return " + AGENT_TOOL.partition("SPEC = ")[2].partition("\n\n\n")[0])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [one for one in sys.modules if one.partition(".")[0] == "declared"]:
        del sys.modules[name]


def declared(site: Path, source: str, attribute: str, name: str = "search") -> Any:
    points = {name: f"declared.tools{attribute}"}
    files = {"declared/__init__.py": "", "declared/tools.py": source}
    make_distribution(site, "declared", "1.0", points, files)
    (record,) = discover_catalog([str(site)]).tools
    return record


@pytest.mark.parametrize(
    ("source", "attribute"),
    [
        (FUNCTION, ":search"),
        (FUNCTION, ""),
        (RENAMED, ":look"),
        (AGENT_TOOL, ":Search"),
        (AGENT_TOOL, ":made"),
        (SPELT, ":Search"),
    ],
)
def test_what_is_listed_without_an_import_is_what_loading_finds(site: Path, source: str, attribute: str) -> None:
    record = declared(site, source, attribute)
    assert "declared.tools" not in sys.modules
    module = importlib.import_module("declared.tools")
    loaded = getattr(module, attribute[1:] or "search")
    spec = (loaded() if isinstance(loaded, type) else loaded).tool_spec
    assert (record.status, record.description) == ("available", spec["description"])
    assert record.input_schema == spec["inputSchema"]["json"]


@pytest.mark.parametrize(("source", "attribute"), [(FUNCTION, ":search"), (RENAMED, ":look"), (AGENT_TOOL, ":Search")])
def test_a_declared_tool_is_known_as_well_as_an_adopted_one(site: Path, source: str, attribute: str) -> None:
    record = declared(site, source, attribute)
    package = find_package("declared", {str(site): frozenset({"declared"})})
    assert package is not None
    (adopted,) = tools_in("declared.tools", package)
    assert (adopted.unknown, adopted.name) == ((), record.name)
    assert (adopted.description, adopted.input_schema) == (record.description, record.input_schema)


def test_the_methods_of_a_class_and_the_tools_of_a_suite_are_known_too(site: Path) -> None:
    source = FUNCTION.replace(
        "@tool\n",
        "class Shelf:\n    @tool\n    def put(self, name: str, at: int = 0) -> str:\n"
        '        """Put it."""\n        return name\n\n\n@tool\n',
    )
    record = declared(site, source, ":Shelf", "shelf")
    (member,) = record.members
    assert member.input_schema["properties"]["at"] == {"type": "integer", "description": "Parameter at", "default": 0}
    record = declared(
        site, source + "\n\n@tool\ndef other(a: bool) -> str:\n    '''Other.'''\n    return 'x'\n", "", "suite"
    )
    assert {one.name: sorted(one.input_schema["properties"]) for one in record.members} == {
        "search": ["kind", "limit", "query", "site"],
        "other": ["a"],
    }


@pytest.mark.parametrize(
    "change",
    [
        ("query: str", "query: Unknown"),
        ("@tool\n", "@tool\n@changes\n"),
        ("@tool\n", "@tool(inputSchema=made())\n"),
        ("limit: int = 10", "limit: int = Field(3)"),
    ],
)
def test_what_only_loading_shows_is_not_guessed(site: Path, change: tuple[str, str]) -> None:
    assert declared(site, FUNCTION.replace(*change), ":search").input_schema is None
