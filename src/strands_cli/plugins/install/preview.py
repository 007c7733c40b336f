"""Preview the installation of a distribution: its tools, their permissions, policy's decisions, and collisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.catalog.adopted.adopted_file import AdoptedFile
from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.catalog.distributions.dist_info import open_distribution
from strands_cli.catalog.distributions.entry_points import read_entry_points, read_header
from strands_cli.catalog.distributions.scan import search_path
from strands_cli.catalog.tool_record import TOOL_CONFLICT, ToolRecord
from strands_cli.errors import Code, Denied, Finding, Where
from strands_cli.hooks.hook_values import HookContext
from strands_cli.hooks.hookspecs import GROUP as HOOKS
from strands_cli.lock.compare import Difference
from strands_cli.parts.part_faults import declared_faults, declared_in
from strands_cli.planning.planned_tools.policy_requests import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.plugins.adopt.adoption_policy import SOURCE as ADOPTED
from strands_cli.plugins.adopt.candidates import survey
from strands_cli.plugins.install.collisions import (
    PLUGIN_REPLACES,
    find_collisions,
    hidden_program,
    other_entry_points,
    parts_in,
    programs_of,
    start_files,
)
from strands_cli.plugins.install.download import Fetched
from strands_cli.plugins.install.packaged_data import packaged_changes, packaged_folders, packaged_names
from strands_cli.policy.decision import Decision
from strands_cli.policy.rules.rule import Rule
from strands_cli.policy.rules.tool_request import Request

if TYPE_CHECKING:
    from strands_cli.hooks.manager import Hooks

PLUGIN_DENIED = Code(
    "plugin-denied",
    "Policy denies every tool of a distribution, so it is not installed.",
    "Have the rule changed: strands explain policy REF",
    21,
)


@dataclass(frozen=True, slots=True)
class ProposedTool:
    """A tool of the distribution, and policy's decision before its arguments are known."""

    record: ToolRecord
    decision: Decision


@dataclass(frozen=True, slots=True)
class Proposal:
    """Everything that a person should know before the installation.

    Attributes:
        fetched: The distribution.
        summary: The one-line summary of its metadata.
        installed: The installed version; None if it is not installed.
        tools: Its tools; members of a class or suite one by one.
        hooks: Names of its hook plugins.
        parts: The stores and engines that it brings, each as a phrase: "opens `memory:` stores".
        programs: Names of its programs.
        hidden: Those that would hide a program of the system, each with that one.
        start_files: What Python reads, and may run, whenever it starts, such as `.pth` files.
        entry_points: Its entry points for other programs, which may load them by themselves, as `pytest11: shout`.
        requires: Other distributions that its metadata requires to be installed or changed.
        changes: Differences between its tools and the installed ones.
        findings: Its faults; `refused` if it must not be installed.
        packaged: Its workflows, agents and skills, each as `workflow triage`.
        adoptable: The tools that could be adopted from it, where it declares nothing.
    """

    fetched: Fetched
    summary: str
    installed: str | None
    tools: tuple[ProposedTool, ...]
    hooks: tuple[str, ...]
    parts: tuple[str, ...]
    programs: tuple[str, ...]
    hidden: Mapping[str, str]
    start_files: tuple[str, ...]
    entry_points: tuple[str, ...]
    requires: tuple[str, ...]
    changes: tuple[Difference, ...]
    findings: tuple[Finding, ...]
    packaged: tuple[str, ...] = ()
    adoptable: tuple[ProposedTool, ...] = ()

    @property
    def refused(self) -> bool:
        """Return whether it would replace or hide files of another owner."""
        return any(finding.code == PLUGIN_REPLACES for finding in self.findings)


def propose(
    fetched: Fetched, installed: Catalog, rules: Sequence[Rule], hooks: Hooks, publisher: str | None = None
) -> Proposal:
    """Return the preview of a fetched distribution, importing nothing from it.

    Args:
        publisher: Its verified publisher, in the words of a rule; None is unknown.
    """
    after = discover_catalog([str(fetched.tree), *search_path()])
    records = [record for record in after.tools if record.distribution == fetched.name]
    members = [one for record in records for one in (record.members or (record,))]
    dist_info = str(fetched.dist_info)
    programs = programs_of(fetched)
    points = read_entry_points(dist_info, fetched.name, after.seen, HOOKS)
    packaged = packaged_names(packaged_folders(fetched.name, [str(fetched.tree), *search_path()]))
    parts = tuple(part.adds for part in parts_in(fetched))
    declares = bool(members or points or packaged or parts)
    undeclared = () if declares else _undeclared(fetched, after, publisher)
    return Proposal(
        fetched=fetched,
        summary=read_header(dist_info, "Summary") or "",
        installed=installed.version_of(fetched.name),
        tools=tuple(_tool(one, _as_fetched(one, fetched, after, publisher), rules, hooks) for one in members),
        hooks=tuple(sorted(point.name for point in points)),
        parts=parts,
        programs=tuple(programs),
        hidden={name: path for name in programs if (path := hidden_program(name))},
        start_files=tuple(start_files(fetched.tree)),
        entry_points=tuple(other_entry_points(fetched)),
        requires=tuple(_to_install(fetched, installed)),
        changes=(*_changes(fetched.name, installed, after), *packaged_changes(fetched, installed)),
        findings=(*_own_findings(fetched, after), *_part_faults(fetched), *find_collisions(fetched, installed)),
        packaged=packaged,
        adoptable=tuple(_tool(record, request, rules, hooks) for record, request in undeclared),
    )


def _undeclared(fetched: Fetched, after: Catalog, publisher: str | None) -> Iterator[tuple[ToolRecord, Request]]:
    """Yield the tools of a distribution that declares none, each with what policy is asked about adopting it."""
    if fetched.name not in after.seen.records:
        return
    found = survey(fetched.name, after, AdoptedFile())
    for one in found.adoptable:
        record = one.record(found.found)
        request = _as_fetched(record, fetched, after, publisher)
        yield record, replace(request, sources=frozenset({*request.sources, ADOPTED}))


def _as_fetched(record: ToolRecord, fetched: Fetched, after: Catalog, publisher: str | None) -> Request:
    """Return what policy is asked about a tool of a distribution that has no place in this environment yet."""
    request = request_of(installed_tool(record, after, f"native:{record.ref_name}"))
    sources = frozenset({"index" if fetched.is_indexed else "archive"})
    return replace(request, sources=sources, publisher=publisher)


def _tool(record: ToolRecord, request: Request, rules: Sequence[Rule], hooks: Hooks) -> ProposedTool:
    context = HookContext(rules=tuple(rules), request=request)
    return ProposedTool(record, hooks.allow_tool(record, f"native:{record.ref_name}", context))


def _own_findings(fetched: Fetched, after: Catalog) -> Iterator[Finding]:
    for finding in after.findings:
        about = finding.where is not None and Path(finding.where.file).is_relative_to(fetched.tree)
        names_it = finding.code == TOOL_CONFLICT and f"'{fetched.name}'" in finding.message
        if about or names_it:
            yield replace(finding, where=None) if about else finding


def _part_faults(fetched: Fetched) -> Iterator[Finding]:
    """Yield what of the distribution's entry points nothing will be able to use."""
    file = fetched.dist_info / "entry_points.txt"
    declared = declared_in(file.read_bytes()) if file.is_file() else []
    for fault in declared_faults(fetched.name, declared, Where(str(file))):
        yield replace(fault, where=None, severity="warning")


def _changes(name: str, installed: Catalog, after: Catalog) -> list[Difference]:
    """Return the differences between the definitions; files always differ between two versions."""
    from strands_cli.lock.compare import compare_distribution
    from strands_cli.lock.installed_lock import lock_distributions

    old, new = (
        lock_distributions([one for one in catalog.tools if one.distribution == name], catalog).get(name)
        for catalog in (installed, after)
    )
    if old is None or new is None:
        return []
    found = compare_distribution(old, new, whole=True)
    return [one for one in found if one.field not in ("files", "editable", "version", "publisher")]


def _to_install(fetched: Fetched, installed: Catalog) -> Iterator[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    extras = set(fetched.extras.strip("[]").split(",")) if fetched.extras else {""}
    for text in open_distribution(str(fetched.dist_info)).requires or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            yield f"{text} (which is not a requirement)"
            continue
        if wanted.marker is not None and not any(wanted.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        version = installed.version_of(wanted.name)
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            yield str(wanted).partition(";")[0].strip() + (f" ({version} is installed)" if version else "")


def require_allowed(name: str, rules: Sequence[Rule]) -> None:
    """Refuse a distribution that a rule denies with all its tools and versions, before it is fetched.

    Raises:
        Denied: There is such a rule.
    """
    any_tool = Request((f"{name}/?", f"native:{name}/?"), distribution=name)
    for rule in rules:
        narrowed = (
            rule.unless or rule.version or rule.sources or rule.capabilities or rule.publisher or rule.is_conditional
        )
        if rule.effect == "deny" and not narrowed and rule.matches(any_tool):
            raise _denied(name, Decision("deny", rule.words, rule))


def require_one_allowed(proposal: Proposal) -> None:
    """Refuse a distribution if policy denies every tool of it, declared or to be adopted.

    Raises:
        Denied: Policy denies every tool.
    """
    tools = proposal.tools or proposal.adoptable
    if tools and all(tool.decision.effect == "deny" for tool in tools):
        raise _denied(proposal.fetched.name, tools[0].decision)


def _denied(name: str, decision: Decision) -> Denied:
    message = f"policy denies every tool of '{name}': {decision.rule}"
    fix = f"have the rule changed, if it should not match; strands explain policy native:{name}/TOOL"
    return Denied(message, findings=[Finding(PLUGIN_DENIED, message, None, fix)])
