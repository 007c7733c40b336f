"""Differences between two documents: JSON pointers and both values; tools are matched by entry and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.texts.phrases import short_json


def manifest_differences(committed: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differences between two manifests; tools are matched by entry and name, not by their order."""
    for key in dict.fromkeys([*committed, *wanted]):
        if key != "tools":
            yield from differences(committed.get(key, ...), wanted.get(key, ...), f"/{key}")
    old, new = by_identity(committed), by_identity(wanted)
    for identity, (index, tool) in old.items():
        yield from differences(tool, new[identity][1] if identity in new else ..., f"/tools/{index}")
    for identity, (_, tool) in new.items():
        if identity not in old:
            yield "/tools", ..., tool


def differences(old: Any, new: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the JSON pointer and both values of each difference between two documents; an absent value is `...`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from differences(old.get(key, ...), new.get(key, ...), f"{pointer}/{escaped}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, f"{pointer}/{index}")
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield pointer, old, new


def by_identity(document: Mapping[str, Any]) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return a manifest's tools as `entry#name` -> (index, tool)."""
    tools = document.get("tools")
    return {
        f"{tool.get('entry')}#{tool.get('name')}": (index, tool)
        for index, tool in enumerate(tools if isinstance(tools, list) else ())
        if isinstance(tool, dict)
    }


def json_line(value: Any) -> str:
    """Return a value as one line of at most 80 characters of JSON."""
    return "nothing" if value is ... else short_json(value, 77)
