"""The preview of an installation: the parts and changes of a distribution, and policy on its tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from strands_cli.api import Finding, PluginInstaller, ToolRecord, UnpackedPlugin, describe_permissions
from strands_cli.hooks import Decision
from strands_cli_index.foreign_text import one_line
from strands_cli_index.installing.download import DownloadedDistribution
from strands_cli_index.wheel_facts import read_header, requires_of

_DESCRIPTION, _LONG = 100, 300


@dataclass(frozen=True, slots=True)
class Preview:
    """Everything that a person should know before an installation.

    Attributes:
        fetched: The distribution.
        installed: The installed version; None if it is absent.
        tools: Its tools, members of a class or suite one by one, each with the decision before its arguments are known.
        adoptable: The tools that could be adopted from it, where it declares nothing.
        requires: Other distributions that its metadata requires to be installed or changed.
        changes: How its tools, workflows and agents differ from the installed ones.
        faults: Its faults.
        collisions: Files of others that it would replace or hide; it must not be installed then.
    """

    fetched: DownloadedDistribution
    installed: str | None
    tools: tuple[tuple[ToolRecord, Decision], ...]
    adoptable: tuple[tuple[ToolRecord, Decision], ...]
    requires: tuple[str, ...]
    changes: tuple[str, ...]
    faults: tuple[Finding, ...]
    collisions: tuple[Finding, ...]

    @property
    def declares(self) -> bool:
        """Whether it has anything for this program."""
        plugin = self.fetched.plugin
        return bool(self.tools or plugin.hooks or plugin.parts or plugin.packaged)

    def require_one_allowed(self, installer: PluginInstaller) -> None:
        """Check that policy does not deny every tool, declared or to be adopted.

        Raises:
            Denied: It does.
        """
        tools = self.tools or self.adoptable
        installer.require_one_allowed(self.fetched.name, [decision for _, decision in tools])

    def document(self) -> dict[str, Any]:
        """Return its part of the JSON of an installation."""
        plugin = self.fetched.plugin
        tools = [
            {
                "name": record.ref_name,
                "description": record.description,
                "permissions": describe_permissions(record),
                "requires": dict(record.requires or {}),
                "effect": decision.effect,
                "rule": decision.rule,
            }
            for record, decision in self.tools
        ]
        return {
            "installed": self.installed,
            "tools": tools,
            "hooks": list(plugin.hooks),
            "parts": [part.adds for part in plugin.parts],
            "packaged": list(plugin.packaged),
            "programs": list(plugin.programs),
            "start_files": list(plugin.start_files),
            "entry_points": list(plugin.foreign_entry_points),
            "requires": list(self.requires),
            "elsewhere": list(plugin.data_places),
            "changes": list(self.changes),
            "findings": [finding.as_dict() for finding in (*self.faults, *self.collisions)],
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines that describe it; foreign text is one line each, so that it cannot look like ours."""
        fetched, plugin = self.fetched, self.fetched.plugin
        before = f" (installed: {self.installed})" if self.installed else ""
        summary = read_header(plugin.dist_info, "Summary") or ""
        yield f"{fetched.name} {fetched.version}{before}: {one_line(summary, _DESCRIPTION)}"
        for record, decision in self.tools:
            yield from _tool_lines(record, decision)
        yield from (f"  hook plugin {name}: off until a policy file switches it on" for name in plugin.hooks)
        yield from (f"  {one_line(part.adds, _DESCRIPTION)}" for part in plugin.parts)
        yield from (f"  {one_line(name, _DESCRIPTION)}: data, which allows itself nothing" for name in plugin.packaged)
        for name, hidden in plugin.programs.items():
            more = f": hides {hidden} where this environment is first on PATH" if hidden else ""
            yield f"  program {one_line(name, _DESCRIPTION)}{more}"
        for name in plugin.start_files:
            yield f"  {one_line(name, _DESCRIPTION)}: Python may run its code at every start"
        for point in plugin.foreign_entry_points:
            yield f"  entry point {one_line(point, _DESCRIPTION)}: other programs may load its code by themselves"
        yield from (f"  file {one_line(path, _LONG)}: outside of its packages" for path in plugin.data_places)
        yield from (f"  also installs {one_line(text, _DESCRIPTION)}" for text in self.requires)
        if self.installed:
            yield from (f"  changes: {change}" for change in self.changes)
            if not self.changes and self.tools:
                yield "  changes: the tools are described as before"
        yield from (f"  {line}" for finding in self.faults for line in str(finding).splitlines())


def preview_of(
    fetched: DownloadedDistribution,
    installer: PluginInstaller,
    version_of: Callable[[str], str | None],
    publisher: str | None,
) -> Preview:
    """Return the preview of a fetched distribution.

    Args:
        version_of: Returns the version of an installed distribution, or None.
        publisher: Its verified publisher, in the words of a rule; None is unknown.
    """
    plugin = fetched.plugin
    source = "index" if fetched.is_indexed else "archive"
    members = [member for record in plugin.records for member in (record.members or (record,))]
    declares = bool(members or plugin.hooks or plugin.parts or plugin.packaged)
    undeclared = [] if declares else _undeclared(plugin)
    return Preview(
        fetched=fetched,
        installed=version_of(fetched.name),
        tools=tuple((member, installer.decide(member, plugin, [source], publisher)) for member in members),
        adoptable=tuple(
            (record, installer.decide(record, plugin, [source, "adopted"], publisher)) for record in undeclared
        ),
        requires=tuple(_to_install(fetched, version_of)),
        changes=tuple(plugin.changes()),
        faults=tuple(plugin.findings()),
        collisions=tuple(plugin.collisions()),
    )


def _undeclared(plugin: UnpackedPlugin) -> list[ToolRecord]:
    """Return the tools that could be adopted from a distribution, if the commands for that are installed."""
    try:
        from strands_cli_dev import adoptable_tools
    except ImportError:
        return []
    declared_names = {record.name for record in plugin.catalog.tools if record.distribution != plugin.name}
    return [record for record, problem in adoptable_tools(plugin.name, plugin.path, declared_names) if problem is None]


def _tool_lines(record: ToolRecord, decision: Decision) -> Iterator[str]:
    yield f"  tool {record.ref_name}: {one_line(record.description or 'known after load', _DESCRIPTION)}"
    yield f"    {one_line(describe_permissions(record), _LONG)}"
    if record.requires:
        needs = "; ".join(f"{name} {_joined(value)}" for name, value in record.requires.items())
        yield f"    requires {one_line(needs, _LONG)}"
    if decision.effect == "deny":
        yield f"    denied: {decision.rule}"


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _to_install(fetched: DownloadedDistribution, version_of: Callable[[str], str | None]) -> Iterator[str]:
    extras = set(fetched.extras.strip("[]").split(",")) if fetched.extras else {""}
    for text in requires_of(fetched.plugin.dist_info):
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            yield f"{text} (which is not a requirement)"
            continue
        if requirement.marker is not None and not any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras
        ):
            continue
        version = version_of(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            yield str(requirement).partition(";")[0].strip() + (f" ({version} is installed)" if version else "")
