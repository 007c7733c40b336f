"""What `plugin check` says of the tools of a distribution, and whether their manifest is that of the code."""

from __future__ import annotations

from strands_cli.catalog.definitions import FILE_NAME, MANIFEST_UNTRUE, MANIFEST_VERSION
from strands_cli.catalog.distributions import GROUP as TOOLS
from strands_cli.errors import Finding, InvalidInput, has_errors
from strands_cli.hooks import GROUP as HOOKS
from strands_cli.phrases import first_of
from strands_cli.plugins.check import (
    BAD_METADATA,
    MANIFEST_DRIFT,
    MANIFEST_MISSING,
    MANIFEST_NOT_PACKAGED,
    PluginProject,
    check_manifests,
    check_plugin,
    read_project,
)
from strands_cli.plugins.publish.project_source import KINDS
from strands_cli.plugins.publish.subject import Subject
from strands_cli.plugins.publish.topic import Topic

_ON_MANIFEST = (MANIFEST_DRIFT, MANIFEST_MISSING, MANIFEST_NOT_PACKAGED, MANIFEST_UNTRUE, MANIFEST_VERSION)


def plugin_topics(subject: Subject) -> list[Topic]:
    """Return what `plugin check` finds, and where the manifest differs from the code, which may be imported for it."""
    groups = subject.source.members().keys()
    members = [f"{KINDS[group]} {name}" for group, found in subject.members.items() for name in sorted(found)]
    shown = first_of(members, 4) or "no plugin"
    if not groups - {HOOKS}:
        return [Topic("plugin check", shown)]
    try:
        project = read_project(subject.source.directory)
        found = [
            one for one in check_plugin(project, tests=True).findings if one.code != BAD_METADATA
        ]  # as the other topics say
    except InvalidInput as error:
        return [Topic("plugin check", "not done", error.findings)]
    on_manifest = [one for one in found if one.code in _ON_MANIFEST]
    rest = tuple(one for one in found if one.code not in _ON_MANIFEST)
    plugin = Topic("plugin check", shown, rest)
    return [plugin] if has_errors(rest) or TOOLS not in groups else [plugin, _manifest_topic(project, on_manifest)]


def _manifest_topic(project: PluginProject, known: list[Finding]) -> Topic:
    try:
        drifted = check_manifests(project)
    except InvalidInput as error:
        drifted = list(error.findings)
    found = _once([*known, *drifted])
    return Topic("manifest", FILE_NAME if found else f"{FILE_NAME}, as in the code", found)


def _once(findings: list[Finding]) -> tuple[Finding, ...]:
    """Leave out what two checks say of one place."""
    return tuple({(one.code, str(one.where), one.message): one for one in findings}.values())
