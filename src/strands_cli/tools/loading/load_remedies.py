"""What to do about a tool that cannot be loaded: install an extra, name another object, or decorate the function."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from strands.types.tools import AgentTool

from strands_cli.catalog.distributions import normalise
from strands_cli.planning.plan import PlannedTool


def remedy_for(error: BaseException, planned: PlannedTool, module: ModuleType | None) -> str:
    """Return the fix for a tool whose import or reading failed; `module` is None if its import did."""
    name, distribution = planned.record.module, planned.distribution
    if isinstance(error, ImportError) and (extra := _extra_for(error.name or "", distribution, planned.record.name)):
        return f"pip install '{distribution}[{extra}]'"
    if module is not None and (others := list(_references(module, planned.record.attribute))):
        return f"name one: {', '.join(others)}"
    if module is not None and callable(getattr(module, planned.record.attribute or "", None)):
        return "decorate it with `@tool` of strands, or describe it with a TOOL_SPEC in its module"
    return f"try: python -c 'import {name}'; then correct or upgrade {distribution}"


def _references(module: ModuleType, attribute: str | None) -> Iterator[str]:
    """Yield how to name the tools that a module holds, and the described one that it only passes on."""
    meant = getattr(module, attribute, None) if attribute else None
    home = getattr(meant, "__globals__", {})
    if "TOOL_SPEC" in home and home is not vars(module):
        yield f"{home['__name__']}:{attribute}"
        return
    for name, value in vars(module).items():
        if isinstance(value, AgentTool) and not name.startswith("_"):
            yield f"{module.__name__}:{name}"


def _extra_for(missing: str, distribution: str, tool: str) -> str | None:
    """Return the extra of a distribution that brings a missing module; of several, the one with the tool's name."""
    from importlib.metadata import PackageNotFoundError, metadata

    from packaging.requirements import InvalidRequirement, Requirement

    try:
        about = metadata(distribution)
        requirements = [Requirement(text) for text in about.get_all("Requires-Dist") or ()]
    except (PackageNotFoundError, InvalidRequirement):
        return None
    extras = about.get_all("Provides-Extra") or []
    wanted = normalise(missing.partition(".")[0])
    bringing = [
        extra
        for extra in extras
        for one in requirements
        if one.marker is not None
        and normalise(one.name) == wanted
        and one.marker.evaluate({"extra": extra})
        and not one.marker.evaluate({"extra": ""})
    ]
    named = next((extra for extra in extras if normalise(extra) == normalise(tool)), None)
    return named if named in bringing or not bringing else bringing[0]
