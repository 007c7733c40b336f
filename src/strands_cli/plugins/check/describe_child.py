"""Runs in a process of its own: imports one plugin and writes what its tools are to a file, as JSON."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from strands_cli.metadata import metadata_of

CONSUMER = "strands-cli"


def main(arguments: list[str]) -> None:
    """Describe one object reference and end the process, whatever threads the plugin has left.

    Args:
        arguments: The file to write, the source directory, the module, the attribute (`""` for the module), and
            `measure` to have the SDK imported before the clock starts.
    """
    result, source, module_name, attribute, *rest = arguments
    sys.path.insert(0, source)
    if rest == ["measure"]:
        # By name: in this process, too, nothing depends on the SDK being there.
        with contextlib.suppress(ImportError):
            importlib.import_module("strands")
    before, started = _state(), time.perf_counter()
    module = importlib.import_module(module_name)
    seconds, changed = time.perf_counter() - started, _changes(before)
    threads = [(thread.name, thread.daemon) for thread in threading.enumerate() if thread not in before["threads"]]
    kind, tools = describe_reference(module, attribute)
    document = {"kind": kind, "tools": tools, "seconds": seconds, "threads": threads, "changed": changed}
    text = json.dumps(document, allow_nan=False)
    sys.stdout.flush()
    Path(result).write_text(text, encoding="utf-8")
    os._exit(0)


def _state() -> dict[str, Any]:
    return {
        "cwd": Path.cwd(),
        "path": list(sys.path),
        "environ": dict(os.environ),
        "threads": set(threading.enumerate()),
    }


def _changes(before: Mapping[str, Any]) -> list[str]:
    now = _state()
    changed = ["the current directory"] if now["cwd"] != before["cwd"] else []
    changed += ["sys.path"] if now["path"] != before["path"] else []
    old, new = before["environ"], now["environ"]
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return changed + [f"the environment variable {name}" for name in names]


def describe_reference(module: ModuleType, attribute: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the kind and the specs of what an entry point names."""
    if not attribute:
        return describe_module(module)
    if spec := _spec_called(module, attribute):
        return "module", [_spec_tool(module, spec)]
    target: Any = module
    for part in attribute.split("."):
        target = getattr(target, part)
    return describe(target)


def describe_module(module: ModuleType) -> tuple[str, list[dict[str, Any]]]:
    """Return the kind and the specs of a module: its TOOL_SPEC, its TOOL_SPECS, or the tools it defines."""
    spec = getattr(module, "TOOL_SPEC", None)
    if isinstance(spec, Mapping):
        return "module", [_spec_tool(module, spec)]
    specs = getattr(module, "TOOL_SPECS", None)
    if isinstance(specs, (list, tuple)):
        return "suite", [_spec_tool(module, one) for one in specs]
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
    if isinstance(target, ModuleType):
        return describe_module(target)
    if isinstance(target, type):
        return _describe_class(target)
    if _is_tool(target):
        return ("function" if hasattr(target, "__wrapped__") else "agent_tool"), [_tool(target)]
    if hasattr(target, "load_tools"):
        return "provider", _provider_tools(target)
    methods = _tool_methods(type(target))
    if methods:
        return "class", methods
    if callable(target):
        return "provider", _tools_of(_called(target))
    return "provider", _tools_of(target)


def _describe_class(target: type) -> tuple[str, list[dict[str, Any]]]:
    if hasattr(target, "tool_spec") and hasattr(target, "stream"):
        return "agent_tool", [_tool(_called(target))]
    if hasattr(target, "load_tools"):
        return "provider", _provider_tools(_called(target))
    methods = _tool_methods(target)
    if not methods:
        raise TypeError(f"the class {target.__name__} is no tool and has no @tool methods")
    return "class", methods


def _called(target: Callable[..., Any]) -> Any:
    """Call a class or a provider as a run does: with an empty `config` where it takes one."""
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return target()
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return target(config={}) if "config" in parameters or takes_any else target()


def _provider_tools(provider: Any) -> list[dict[str, Any]]:
    """Ask a provider of the SDK for its tools, and let go of it."""
    if hasattr(provider, "add_consumer"):
        provider.add_consumer(CONSUMER)
    try:
        return _tools_of(provider.load_tools())
    finally:
        if hasattr(provider, "remove_consumer"):
            _settled(provider.remove_consumer(CONSUMER))


def _settled(outcome: Any) -> Any:
    if not inspect.isawaitable(outcome):
        return outcome
    import asyncio  # only some providers answer later

    async def settle() -> Any:
        return await outcome

    return asyncio.run(settle())


def _tools_of(provided: Any) -> list[dict[str, Any]]:
    found = _settled(provided)
    single = isinstance(found, (str, Mapping, type)) or not isinstance(found, Iterable)
    described: list[dict[str, Any]] = []
    for one in [found] if single else found:
        holder = isinstance(one, (type, ModuleType)) or hasattr(one, "load_tools") or _tool_methods(type(one))
        if not (_is_tool(one) or holder):
            raise TypeError(f"the provider gave {one!r}, which is no tool")
        described += describe(one)[1]
    return described


def _tool_methods(owner: type) -> list[dict[str, Any]]:
    names = dict.fromkeys(name for part in reversed(owner.__mro__) for name in vars(part))
    return [_tool(value) for name in names if _is_tool(value := getattr(owner, name, None))]


def _is_tool(value: Any) -> bool:
    return not isinstance(value, type) and isinstance(getattr(value, "tool_spec", None), Mapping)


def _defined_in(value: Any, module: str) -> bool:
    return module in (getattr(value, "__module__", None), type(value).__module__)


def _tool(value: Any) -> dict[str, Any]:
    return _described({**value.tool_spec, "name": value.tool_name}, value)


def _spec_called(module: ModuleType, name: str) -> Mapping[str, Any] | None:
    specs = [getattr(module, "TOOL_SPEC", None), *(getattr(module, "TOOL_SPECS", None) or ())]
    return next((spec for spec in specs if isinstance(spec, Mapping) and spec.get("name") == name), None)


def _spec_tool(module: ModuleType, spec: Mapping[str, Any]) -> dict[str, Any]:
    name = str(spec.get("name"))
    function = getattr(module, name, None) or getattr(module, module.__name__.rpartition(".")[2], None)
    if not callable(function) and not _is_tool(function):
        raise TypeError(f"the module {module.__name__} has a spec for {name!r} but no function of that name")
    return _described(spec, function)


def _described(spec: Mapping[str, Any], carrier: Any) -> dict[str, Any]:
    said = metadata_of(carrier)
    plain = dict(spec)
    plain["annotations"] = {**(said.annotations if said else {}), **(spec.get("annotations") or {})}
    plain["strands_cli"] = {**(said.strands_cli if said else {}), **(spec.get("strands_cli") or {})}
    return plain


def _report(error: BaseException) -> None:
    """End the process with the error's own words as the last line of stderr."""
    if isinstance(error, SystemExit):
        sys.stderr.write(f"it ended the process (SystemExit: {error.code})\n")
    else:
        import traceback

        traceback.print_exception(error)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001 - foreign code raises what it likes, and its threads must not hold us
        _report(error)
