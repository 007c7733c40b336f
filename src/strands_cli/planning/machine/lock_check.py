"""The lock of a folder: the uses of its workflows, and the differences of a plan from it, before any import."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.publisher_records import required_distributions
from strands_cli.catalog.resolution import UNKNOWN_TOOL
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.default_parts import DEFAULTS, FILTERS, FORMATS, PATTERNS, SECRETS
from strands_cli.errors import Code, Denied, Finding, Where
from strands_cli.parts.named_parts import Part, part_named, parts_of
from strands_cli.parts.named_providers import provider_by_name
from strands_cli.parts.plugin_lock import check_locked, lock_finding, lock_plugins, place_in_lock
from strands_cli.planning.plan_values import (
    LockComparison,
    Plan,
    PlannedTool,
    ResolvedWorkflow,
    agents_in,
    all_workflows_in,
    with_parts,
    workflows_in,
)
from strands_cli.planning.planned_tool import InstalledTool, McpTool, PythonTool, reached_by
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.workflow.loader import OTHER_VERSIONS, PRESENT, version_number

if TYPE_CHECKING:
    from strands_cli.catalog.distributions.entry_points import Scan
    from strands_cli.catalog.packaged_files import PackagedFolder
    from strands_cli.lock.compare import Difference
    from strands_cli.lock.lock_reader import Lock, LockedDistribution, LockedModule, LockedServer, LockedWorkflow
    from strands_cli.toolref import ToolRef
    from strands_cli.workflow.steps import McpServer


# Packages of workflows, agents and skills that a plan uses, and the lock of a folder.


Packages: TypeAlias = "Mapping[str, tuple[PackagedFolder, ...]]"


def packages_of(plan: ResolvedWorkflow, scan: Scan) -> dict[str, tuple[PackagedFolder, ...]]:
    """Return the distributions whose files a plan reads as workflow, agent or skill, with all folders of each."""
    sites = [os.path.realpath(site) for site in scan.listings]
    own = os.path.realpath(plan.project)
    read = {os.path.realpath(file) for file in _files_of(plan)}
    if not plan.packaged:
        # A file of the workflow's own folder is not of a package, unless an environment is in that folder.
        read = {file for file in read if not _is_in(file, own) or any(_is_in(file, site) for site in sites)}
    if not read:
        return {}
    from strands_cli.catalog.packaged_files import scan_packaged

    folders = scan_packaged(list(scan.listings))[0]
    used = {folder.distribution for folder in folders if any(_is_in(file, folder.folder) for file in read)}
    return {name: tuple(folder for folder in folders if folder.distribution == name) for name in sorted(used)}


def _files_of(plan: ResolvedWorkflow) -> Iterator[str]:
    for workflow in (plan, *(inner.plan for inner in workflows_in(with_parts(plan.called())).values())):
        yield from workflow.files
        if not workflow.file.startswith("<"):
            yield workflow.file


def _is_in(file: str, folder: str) -> bool:
    return file.startswith(folder.rstrip(os.sep) + os.sep)


def with_packages(
    distributions: Mapping[str, LockedDistribution],
    packages: Packages,
    scan: Scan,
    required: Mapping[str, Iterable[str]],
    old: Mapping[str, LockedDistribution] | None = None,
) -> dict[str, LockedDistribution]:
    """Return locked distributions with those of packages; one with tools too gets the entry of its files.

    Args:
        required: The names of the distributions to pin with each.
        old: Their entries in a lock.
    """
    from strands_cli.lock.package_documents import lock_package

    locked = dict(distributions)
    for name, folders in packages.items():
        distribution = lock_package(name, folders, scan, required.get(name, ()), (old or {}).get(name))
        locked[name] = locked[name]._replace(documents=distribution.documents) if name in locked else distribution
    return locked


def unlisted_package(folders: tuple[PackagedFolder, ...]) -> Difference:
    """Return the difference that a lock does not have a package."""
    from strands_cli.lock.compare import Difference

    name, version = folders[0].distribution, folders[0].version or ""
    kinds = ", ".join(dict.fromkeys(f"{folder.kind}s" for folder in folders))
    message = f"the lock does not have {name} {version}".rstrip() + f", which provides {kinds}"
    return Difference(name, message, unlisted=True)


LOCK_MISSING = Code(
    "lock-missing",
    "`--locked`, or `locked: true` of a policy file, requires a lock that does not exist.",
    "Read what the workflow uses, then: strands lock",
    21,
)


_PIPED = re.compile(r"\|\s*([A-Za-z_]\w*)")
_FORMAT = re.compile(r"""\bformat["']?\s*:\s*["']?([\w.-]+)""")
_VERSION = re.compile(r"""\bversion["']?\s*:\s*["']?([\w.-]+)""")


class PartsInUse(NamedTuple):
    """The installed parts in use: tools of distributions, and custom Python with the folders it may be in.

    `packages` are the distributions whose workflows, agents or skills are used, with the folders that they declare.
    """

    records: tuple[ToolRecord, ...]
    custom: tuple[ToolRef, ...]
    python_path: tuple[str, ...] = ()
    packages: Packages = MappingProxyType({})


def python_path_of(plan: ResolvedWorkflow) -> tuple[str, ...]:
    """Return the folders for custom Python as seen from a plan's folder, those of the workflows in it too."""
    below = [
        os.path.relpath(part.base_dir / path, plan.base_dir)
        for part in all_workflows_in(plan)
        for path in part.spec.tools.python_path
    ]
    return tuple(dict.fromkeys((*plan.spec.tools.python_path, *below)))


def used_of(plan: ResolvedWorkflow, catalog: Catalog) -> PartsInUse:
    """Return the installed parts that a plan uses."""
    parts = used_by(with_parts(plan.called()), python_path_of(plan))
    return parts._replace(packages=packages_of(plan, catalog.scan))


def distributions_of_parts(plans: Iterable[ResolvedWorkflow], scan: Scan) -> list[str]:
    """Return the distributions whose parts these plans name: patterns, secrets, template filters and formats."""
    return sorted({part.distribution for part in parts_in(plans, scan)})


def _parts_unlike_the_lock(plan: ResolvedWorkflow, scan: Scan, required_by: str | None) -> list[Finding]:
    """Return why parts that a plan names may not be imported by the lock beside its workflow."""
    first = {part.distribution: str(part) for part in reversed(parts_in([plan], scan))}
    return [
        finding
        for distribution, named in sorted(first.items())
        for finding in check_locked([distribution], plan.project, required_by, named=named)
    ]


def parts_in(plans: Iterable[ResolvedWorkflow], scan: Scan) -> list[Part]:
    """Return the parts of distributions that these plans name.

    Every word after a `|` of a file counts as the name of a filter, and each `format:` and `version:` of the workflow
    as that of its format: one locked in addition does no harm.
    """
    named: set[tuple[str, str]] = set()
    installed: dict[str, set[str]] = {}
    for plan in (part for whole in plans for part in (whole, *all_workflows_in(whole))):
        named.add((PATTERNS, plan.spec.pattern.type))
        named |= {(SECRETS, secret.source) for secret in plan.spec.env.secrets}
        named |= {(FILTERS, word) for text in (plan.text, *plan.files.values()) for word in _PIPED.findall(text)}
        named |= {(FORMATS, name) for name in _FORMAT.findall(plan.text)}
        # A run that was stored when the format had another version has that one in its workflow.
        own = (PRESENT, version_number(plan.spec.version))
        versions = [version for version in _VERSION.findall(plan.text) if version_number(version) not in own]
        named |= {(FORMATS, f"version-{version}") for version in versions}
        named |= {(FORMATS, OTHER_VERSIONS)} if versions else set()
    parts = []
    for group, name in sorted(named):
        if name in DEFAULTS.get(group, {}):
            continue
        if group not in installed:
            installed[group] = {part.name for part in parts_of(group, scan)}
        if name in installed[group] and (part := part_named(group, name, scan)) is not None:
            parts.append(part)
    return parts


def used_by(tools: Iterable[PlannedTool], python_path: Sequence[str] = ()) -> PartsInUse:
    """Return the installed parts of these tools; objects of a program are its own, so no lock covers them."""
    from strands_cli.toolref import ToolRef

    tools = tuple(tools)
    records = [tool.record for tool in tools if isinstance(tool, InstalledTool)]
    custom = dict.fromkeys(ToolRef.parse(tool.ref) for tool in tools if isinstance(tool, PythonTool))
    return PartsInUse(tuple(records), tuple(custom), tuple(python_path))


def compare_with_lock(
    workflow: ResolvedWorkflow, findings_before: Sequence[Finding], catalog: Catalog, required_by: str | None = None
) -> LockComparison:
    """Compare a workflow with the lock beside it; nothing runs.

    Args:
        findings_before: The other findings about the workflow.
        required_by: Who asks for a lock where none is (`--locked`, or the line of a policy file).
    """
    parts = used_of(workflow, catalog)
    findings, locked = check_used(parts, workflow.project, catalog, required_by, _spec_word(workflow))
    findings += _parts_unlike_the_lock(workflow, catalog.scan, required_by)
    if any(finding.code == UNKNOWN_TOOL for finding in findings_before):
        findings += _uninstalled(workflow.project, catalog, findings=findings)
    servers = servers_in(with_parts(workflow.called()))
    pinned: dict[str, LockedServer] = {}
    if servers and not any(finding.code.startswith("lock-") for finding in findings):
        server_findings, pinned = check_servers(servers, workflow.project, _spec_word(workflow))
        findings += server_findings
    if required_by and not any(finding.code.startswith("lock-") for finding in findings):
        locked |= _locked_workflow(workflow) | _locked_python(parts)
    return LockComparison(tuple(findings), locked, pinned)


def _locked_python(parts: PartsInUse) -> frozenset[str]:
    """Return the custom Python for `plan.locked`, where a required lock has all of it."""
    from strands_cli.planning.data_flow.workflow_trust import LOCKED_PYTHON

    return frozenset(f"{LOCKED_PYTHON}{ref.canonical}" for ref in parts.custom)


def _locked_workflow(workflow: ResolvedWorkflow) -> frozenset[str]:
    """Return the entry of the workflow for `plan.locked`, with the digest of its uses in the lock.

    Only a lock that a person requires has a say: one that lies beside a workflow may come from its author.
    """
    from strands_cli.lock.lock_reader import lock_file, read_lock
    from strands_cli.planning.data_flow.workflow_trust import locked_workflow

    name, lock = workflow.packaged or Path(workflow.file).name, read_lock(lock_file(workflow.project))
    locked = lock.workflows.get(name) if lock is not None else None
    return frozenset({locked_workflow(name, locked.authority)}) if locked is not None else frozenset()


def servers_in(tools: Iterable[PlannedTool]) -> list[McpServer]:
    """Return the MCP servers of these tools, each once."""
    servers = {canonical_json(tool.config): tool.server for tool in tools if isinstance(tool, McpTool)}
    return list(servers.values())


def check_servers(
    servers: Iterable[McpServer], folder: Path, spec: str = ""
) -> tuple[list[Finding], dict[str, LockedServer]]:
    """Return why the lock of a folder forbids these servers, and its entries for them, by their ids.

    Their tools are compared with the lock when they have started.
    """
    from strands_cli.lock.compare import Difference, compare_reach
    from strands_cli.lock.lock_reader import lock_file, read_lock

    lock = read_lock(lock_file(folder))
    if lock is None:
        return [], {}
    findings: list[Finding] = []
    pinned: dict[str, LockedServer] = {}
    for server in servers:
        name = f"mcp:{server.id}"
        locked = lock.servers.get(name)
        message = f"the lock does not have the MCP server {name}"
        differences = (
            compare_reach(locked, reached_by(server)) if locked else [Difference(name, message, unlisted=True)]
        )
        findings += [lock_finding(difference, folder, f"{spec}--mcp ") for difference in differences]
        if locked is not None:
            pinned[server.id] = locked
    return findings, pinned


def require_locked(tool: PlannedTool, folder: Path, catalog: Catalog, required_by: str) -> None:
    """Compare one tool, called by hand, with the lock of a folder.

    Raises:
        Denied: there is no lock, or the tool differs from it.
    """
    findings, _ = check_used(used_by([tool]), folder, catalog, required_by)
    if findings:
        raise Denied(f"'{tool.name}' is not as it was locked", findings=findings)


def check_used(
    parts: PartsInUse, folder: Path, catalog: Catalog, required_by: str | None = None, spec: str = ""
) -> tuple[list[Finding], frozenset[str]]:
    """Return why these tools may not run by the lock of a folder, and the distributions and references it vouches for.

    Args:
        required_by: Who asks for a lock where none is.
        spec: The words that `strands lock` needs to find the folder.
    """
    from strands_cli.lock.lock_reader import (
        lock_file,
        read_lock,  # small; the reader of TOML waits for a lock
    )

    try:
        lock = read_lock(lock_file(folder))
    except Denied as error:
        return list(error.findings), frozenset()
    if lock is None:
        return ([_missing(folder, required_by, spec)] if required_by else []), frozenset()
    return _compare_with_lock(lock, parts, folder, catalog, spec)


def _compare_with_lock(
    lock: Lock, parts: PartsInUse, folder: Path, catalog: Catalog, spec: str
) -> tuple[list[Finding], frozenset[str]]:
    from strands_cli.lock.package_documents import lock_distributions, lock_module

    # The files that state the requirements are locked too, so the names in the lock are still the right ones.
    required = {name: distribution.requires for name, distribution in lock.distributions.items()}
    distributions = lock_distributions(parts.records, catalog, required)
    now: dict[str, LockedDistribution | LockedModule] = {
        **with_packages(distributions, parts.packages, catalog.scan, required, lock.distributions),
        **{ref.canonical: lock_module(ref, folder, parts.python_path) for ref in parts.custom},
    }
    locked: dict[str, object] = {**lock.distributions, **lock.modules}
    changed = {name: module for name, module in now.items() if locked.get(name) != module}
    differences = (
        [change for name, module in changed.items() for change in _changes(lock, name, module, parts)]
        if changed
        else []
    )
    vouched = now.keys() - {difference.owner for difference in differences}
    return [lock_finding(difference, folder, spec) for difference in differences], frozenset(vouched)


def _changes(lock: Lock, name: str, now: LockedDistribution | LockedModule, parts: PartsInUse) -> list[Difference]:
    from strands_cli.lock.compare import compare_distribution, compare_module
    from strands_cli.lock.lock_reader import LockedModule  # only where something has changed

    if isinstance(now, LockedModule):
        return compare_module(lock.modules.get(name), now)
    distribution = lock.distributions.get(name)
    return compare_distribution(distribution, now, whole=False) if distribution else [_unknown(name, parts, lock)]


def _unknown(name: str, parts: PartsInUse, lock: Lock) -> Difference:
    from strands_cli.lock.compare import Difference

    if name in parts.packages:
        return unlisted_package(parts.packages[name])
    its = [record for record in parts.records if record.distribution == name]
    tools = sorted({record.ref_name for record in its})
    message = f"the lock does not have {name} {its[0].version or ''}".rstrip() + f", which provides {', '.join(tools)}"
    others = sorted({owner for tool in tools for owner in lock.owners_of(tool)})
    if others:
        message += f"; it has a tool of that name from {', '.join(others)}"
    return Difference(name, message, unlisted=True)


def _missing(folder: Path, required_by: str | None, spec: str) -> Finding:
    from strands_cli.lock.lock_reader import lock_file

    file = lock_file(folder)
    message = f"there is no {file.name} in {folder}, which {required_by} asks for"
    fix = f"read what the workflow uses (strands plan), then: strands lock {spec}".rstrip()
    return Finding(LOCK_MISSING, message, Where(str(file)), fix)


def _uninstalled(folder: Path, catalog: Catalog, findings: Sequence[Finding]) -> list[Finding]:
    """Return the missing ones of the locked distributions: the unknown tool may be of one of them."""
    from strands_cli.lock.compare import LOCK_CHANGED
    from strands_cli.lock.lock_reader import LOCK_BROKEN, lock_file, read_lock

    file = lock_file(folder)
    if any(finding.code == LOCK_BROKEN for finding in findings):
        return []
    lock = read_lock(file)
    missing = [
        distribution
        for distribution in (lock.distributions.values() if lock else ())
        if distribution.name not in catalog.scan.records
    ]
    return [
        Finding(
            LOCK_CHANGED,
            f"{distribution.name} {distribution.version or ''} is in the lock and is not installed",
            place_in_lock(file, distribution.name),
            # A lock comes with its workflow, and any person can register a name in an index.
            "read what it is, and install it in this version from a source that you trust",
        )
        for distribution in missing
    ]


def _spec_word(plan: ResolvedWorkflow) -> str:
    """Return the argument that names the folder to `strands lock`; empty for the current directory."""
    if plan.packaged:  # it is locked in the current directory, which does not name it
        return f"{shlex.quote(plan.packaged)} "
    return "" if plan.file.startswith("<") or plan.project == Path.cwd() else f"{shlex.quote(plan.file)} "


def lock_of(plans: Iterable[Plan], catalog: Catalog, hooks: Iterable[str] = ()) -> Lock:
    """Return the lock of the workflows of a folder, from their plans, with the enabled hook plugins.

    Raises:
        NotEquipped: files of a distribution cannot be read.
    """
    from strands_cli.lock.lock_reader import Lock
    from strands_cli.lock.package_documents import lock_distributions, lock_module, require_readable

    modules: dict[str, Any] = {}
    records: list[ToolRecord] = []
    packages: dict[str, tuple[PackagedFolder, ...]] = {}
    plans = tuple(plans)
    for plan in plans:
        parts = used_of(plan, catalog)
        records += parts.records
        packages |= parts.packages
        for ref in parts.custom:
            modules.setdefault(ref.canonical, lock_module(ref, plan.base_dir, parts.python_path))
    required = required_distributions({*(record.distribution for record in records), *packages}, catalog.scan)
    distributions = lock_distributions(records, catalog, required)
    distributions = with_packages(distributions, packages, catalog.scan, required)
    distributions = {
        **lock_plugins((*hooks, *_of_providers(plans), *distributions_of_parts(plans, catalog.scan)), catalog.scan),
        **distributions,
    }
    for name, distribution in (*distributions.items(), *modules.items()):
        require_readable(name, distribution.files)
    return Lock(distributions, modules, workflows=dict(_locked_workflows(plans)))


def _of_providers(plans: Iterable[ResolvedWorkflow]) -> set[str]:
    """Return the distributions of the model providers that workflows name; none is imported."""
    agents = [agent for plan in plans for agent in (*plan.agents.values(), *agents_in(plan.called()))]
    names = {model.provider for agent in agents for model in agent.models}
    providers = {name: provider_by_name(name) for name in names}
    return {
        provider.distribution for provider in providers.values() if provider is not None and not provider.is_of_core
    }


def _locked_workflows(plans: Iterable[Plan]) -> Iterator[tuple[str, LockedWorkflow]]:
    """Yield every workflow with the digest of its uses, so that a changed file is noticed.

    By these entries a lock knows also which packaged workflows are run in its folder.
    """
    from strands_cli.lock.lock_reader import LockedWorkflow
    from strands_cli.planning.data_flow.planned_authority import authority_of

    for plan in plans:
        name = plan.packaged or Path(plan.file).name
        yield name, LockedWorkflow(name, authority_of(plan).digest)
