"""Distributions that declare no tools, and adoption files made from their source as the command makes them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strands_cli.catalog.adopted.adopted_file import AdoptedDistribution, AdoptedFile, AdoptedTool, digests_of
from strands_cli.catalog.adopted.compared_records import adopted_records
from strands_cli.catalog.catalog import Catalog, join_records
from strands_cli.catalog.distributions.entry_points import find_package
from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.catalog.from_source import read_source, reader_of
from strands_cli.catalog.source.source_reader import tools_of_module
from tests.distributions import make_distribution

FILE = "strands-adopted.json"
DAY = "2026-11-23"

FUNCTION = '''\
"""Greetings."""

from strands import tool


@tool
def hello(name: str) -> str:
    """Say hello to a person."""
    return f"hello {name}"
'''

MODULE = """\
TOOL_SPEC = {
    "name": "Count-Words",
    "description": "Count the words of a text.",
    "inputSchema": {"json": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
}


def count(tool, **kwargs):
    words = len(tool["input"]["text"].split())
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"text": str(words)}]}
"""


def install(site: Path, name: str = "acme-tools", version: str = "1.0", files: Mapping[str, str] | None = None) -> Path:
    """Install a distribution without entry points, with a RECORD; by default with one `@tool` function."""
    package = name.replace("-", "_")
    files = files or {f"{package}/__init__.py": "", f"{package}/hello.py": FUNCTION}
    record = make_distribution(site, name, version, files=files)
    with (record / "RECORD").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([path, "", ""] for path in files)
    return record


def adopt(file: Path, site: Path, tools: Mapping[str, str], name: str = "acme-tools", **changed: Any) -> Path:
    """Adopt tools of an installed distribution from their source: name -> entry.

    Args:
        changed: Fields of every definition that differ from the source.
    """
    scan = scan_installed([str(site)])
    adopted, modules, files = dict[str, AdoptedTool](), [], []
    for own, entry in tools.items():
        module, _, attribute = entry.partition(":")
        package = find_package(module.partition(".")[0], scan.listings)
        assert package is not None, module
        listed = [one for one in tools_of_module(module, reader_of(package)) if one.entry == entry]
        found = listed[0] if listed else read_source(module, attribute or None, package)
        definition = {**found.definition, **changed}
        adopted[own] = AdoptedTool(own, entry, found.name or own, definition)
        modules.append(module)
        files.append(found.file)
    digests = digests_of(modules, name, scan, files)
    one = AdoptedDistribution(name, scan.version(name), DAY, files=digests, tools=adopted)
    AdoptedFile({name: one}).write(file)
    return file


def catalog_of(site: Path, user: Path | None = None, project: Path | None = None) -> Catalog:
    """Return the catalog of a directory and of these adoption files."""
    from strands_cli.catalog.catalog import scan_tools

    records, seen = scan_tools([str(site)])
    levels = {"user": user, "project": project}
    files = [(str(path), level) for level, path in levels.items() if path is not None]
    return join_records([*records, *adopted_records(files, seen)], seen)  # type: ignore[arg-type]
