"""Runs in a process of its own: imports one plugin and writes what its tools are to a file, as JSON."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from strands_cli.metadata import metadata_of


def main(arguments: list[str]) -> None:
    """Describe one object reference.

    Args:
        arguments: The file to write, the source directory, the module, and the attribute (`""` for the module).
    """
    result, source, module_name, attribute = arguments
    sys.path.insert(0, source)
    module = importlib.import_module(module_name)
    if attribute:
        target: Any = module
        for part in attribute.split("."):
            target = getattr(target, part)
        kind, tools = describe(target)
    else:
        kind, tools = describe_module(module)
    Path(result).write_text(json.dumps({"kind": kind, "tools": tools}), encoding="utf-8")


def describe_module(module: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the kind and the specs of a module: its TOOL_SPEC, its TOOL_SPECS, or the tools it defines."""
    spec = getattr(module, "TOOL_SPEC", None)
    if isinstance(spec, Mapping):
        function = getattr(module, module.__name__.rpartition(".")[2], None) or getattr(module, spec["name"], None)
        return "module", [_described(spec, function)]
    specs = getattr(module, "TOOL_SPECS", None)
    if isinstance(specs, (list, tuple)):
        return "suite", [_described(one, getattr(module, one["name"], None)) for one in specs]
    exported = getattr(module, "__all__", None)
    tools = [
        value
        for name, value in vars(module).items()
        if _is_tool(value) and (name in exported if exported is not None else _defined_in(value, module.__name__))
    ]
    if len(tools) == 1:
        return describe(tools[0])
    return "suite", [_tool(one) for one in tools]


def describe(target: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the kind and the specs of the object an entry point names.

    Tools are known by their shape (`tool_spec`), so that this module needs no SDK.
    """
    if isinstance(target, type):
        return _describe_class(target)
    if _is_tool(target):
        return ("function" if hasattr(target, "__wrapped__") else "agent_tool"), [_tool(target)]
    methods = _tool_methods(type(target))
    if methods:
        return "class", methods
    if hasattr(target, "load_tools"):
        return "provider", _tools_of(target.load_tools())
    if callable(target):
        return "provider", _tools_of(target())
    return "provider", _tools_of(target)


def _describe_class(target: type) -> tuple[str, list[dict[str, Any]]]:
    if hasattr(target, "tool_spec") and hasattr(target, "stream"):
        return "agent_tool", [_tool(target())]
    methods = _tool_methods(target)
    if methods:
        return "class", methods
    return "provider", _tools_of(target().load_tools())


def _tools_of(found: Any) -> list[dict[str, Any]]:
    if inspect.isawaitable(found):
        import asyncio  # only some providers answer later

        async def settle() -> Any:
            return await found

        found = asyncio.run(settle())
    tools = found if isinstance(found, Iterable) else [found]
    described = []
    for one in tools:
        if not _is_tool(one):
            raise TypeError(f"the provider gave {one!r}, which is no tool")
        described.append(_tool(one))
    return described


def _tool_methods(owner: type) -> list[dict[str, Any]]:
    names = dict.fromkeys(name for part in reversed(owner.__mro__) for name in vars(part))
    return [_tool(value) for name in names if _is_tool(value := getattr(owner, name, None))]


def _is_tool(value: Any) -> bool:
    return not isinstance(value, type) and isinstance(getattr(value, "tool_spec", None), Mapping)


def _defined_in(value: Any, module: str) -> bool:
    return module in (getattr(value, "__module__", None), type(value).__module__)


def _tool(value: Any) -> dict[str, Any]:
    return _described(value.tool_spec, value)


def _described(spec: Mapping[str, Any], carrier: Any) -> dict[str, Any]:
    said = metadata_of(carrier) if carrier is not None else None
    plain = dict(spec)
    plain["annotations"] = {**(said.annotations if said else {}), **(spec.get("annotations") or {})}
    plain["strands_cli"] = {**(said.strands_cli if said else {}), **(spec.get("strands_cli") or {})}
    return plain


if __name__ == "__main__":
    main(sys.argv[1:])
