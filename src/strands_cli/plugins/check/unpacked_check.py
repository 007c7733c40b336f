"""The static check of a distribution that is not installed, without this machine in it."""

from __future__ import annotations

from collections.abc import Iterable

from strands_cli.catalog.distributions.entry_points import Scan, read_entry_points
from strands_cli.catalog.entry_faults import MISSING_MODULE
from strands_cli.errors import Finding, StrandsCliError, Where
from strands_cli.plugins.check.project import PluginProject, installed_parts
from strands_cli.plugins.check.whole_plugin import check_plugin
from strands_cli.plugins.install.unpacked_plugin import UnpackedPlugin


def check_unpacked(plugin: UnpackedPlugin) -> list[Finding]:
    """Return what `plugin check` says of a distribution without importing it."""
    seen, dist_info = Scan(), str(plugin.dist_info)
    points = {point.name: point.value for point in read_entry_points(dist_info, plugin.name, seen)}
    names = frozenset(path.name for path in plugin.tree.iterdir())
    here = {name: value for name, value in points.items() if _has_top(value, names)}
    parts = tuple(installed_parts(dist_info, plugin.name, seen))
    project = PluginProject(
        plugin.dist_info, plugin.name, here, plugin.tree, installed={str(plugin.tree): names}, parts=parts
    )
    findings = [*seen.findings, *(_missing(name, points[name], project) for name in points if name not in here)]
    try:
        findings += check_plugin(project, twins=False).findings
    except StrandsCliError as error:
        findings += error.findings
    return findings


def _has_top(value: str, names: Iterable[str]) -> bool:
    top = "".join(value.split()).partition(":")[0].partition(".")[0]
    return any(name == top or name.partition(".")[0] == top for name in names)


def _missing(name: str, value: str, project: PluginProject) -> Finding:
    message = f"the entry point '{name}' names {value[:80]!r}, which the wheel does not have"
    return Finding(MISSING_MODULE, message, Where(str(project.declared_in)))
