"""What would change with a distribution: its tools, what they ask for, what policy says, and what is not its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog import (
    Catalog,
    ToolRecord,
    discover_catalog,
    open_distribution,
    read_entry_points,
    read_header,
    search_path,
)
from strands_cli.errors import Denied, Finding
from strands_cli.hooks import GROUP as HOOKS
from strands_cli.hooks import HookContext
from strands_cli.lock import Difference
from strands_cli.planning import request_of
from strands_cli.planning.resolve import installed_tool
from strands_cli.plugins.install.collisions import find_collisions, programs_of
from strands_cli.plugins.install.download import Fetched
from strands_cli.policy import Decision, Request, Rule

if TYPE_CHECKING:
    from strands_cli.hooks import Hooks


@dataclass(frozen=True, slots=True)
class ProposedTool:
    """A tool of the distribution and policy's answer before any argument is known."""

    record: ToolRecord
    decision: Decision


@dataclass(frozen=True, slots=True)
class Proposal:
    """Everything a person should know before it is installed.

    Attributes:
        fetched: The distribution.
        summary: Its own one line on itself.
        installed: The version that is installed now, None where it is not.
        tools: Its tools, members of a class or suite one by one.
        hooks: Names of its hook plugins.
        programs: Names of the programs it brings.
        start_files: Its `.pth` files, which Python reads, and may run, whenever it starts.
        requires: What else would be installed, or changed, as far as its own metadata tells.
        changes: Where its tools differ from those that are installed.
        findings: What is wrong with it; `refused` says whether it must not be installed.
    """

    fetched: Fetched
    summary: str
    installed: str | None
    tools: tuple[ProposedTool, ...]
    hooks: tuple[str, ...]
    programs: tuple[str, ...]
    start_files: tuple[str, ...]
    requires: tuple[str, ...]
    changes: tuple[Difference, ...]
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        """Return whether it would replace what is not its own."""
        return any(finding.code == "plugin-replaces" for finding in self.findings)


def propose(fetched: Fetched, installed: Catalog, rules: Sequence[Rule], hooks: Hooks) -> Proposal:
    """Read a distribution that is not installed yet, importing nothing of it."""
    after = discover_catalog([str(fetched.tree), *search_path()])
    records = [record for record in after.tools if record.distribution == fetched.name]
    members = [one for record in records for one in (record.members or (record,))]
    dist_info = str(fetched.dist_info)
    points = read_entry_points(dist_info, fetched.name, after.seen, HOOKS)
    return Proposal(
        fetched=fetched,
        summary=read_header(dist_info, "Summary") or "",
        installed=installed.version_of(fetched.name),
        tools=tuple(ProposedTool(one, _decided(one, fetched, after, rules, hooks)) for one in members),
        hooks=tuple(sorted(point.name for point in points)),
        programs=tuple(programs_of(fetched)),
        start_files=tuple(sorted(path.name for path in fetched.tree.glob("*.pth"))),
        requires=tuple(_to_install(fetched, installed)),
        changes=tuple(_changes(fetched.name, installed, after)),
        findings=(*_own_findings(fetched, after), *find_collisions(fetched, installed)),
    )


def _decided(record: ToolRecord, fetched: Fetched, after: Catalog, rules: Sequence[Rule], hooks: Hooks) -> Decision:
    request = request_of(installed_tool(record, after, f"native:{record.ref_name}"))
    request = replace(request, sources=frozenset({"index" if fetched.is_indexed else "archive"}))
    context = HookContext(rules=tuple(rules), request=request)
    return hooks.allow_tool(record, f"native:{record.ref_name}", context)


def _own_findings(fetched: Fetched, after: Catalog) -> Iterator[Finding]:
    for finding in after.findings:
        about = finding.where is not None and Path(finding.where.file).is_relative_to(fetched.tree)
        names_it = finding.code == "tool-conflict" and f"'{fetched.name}'" in finding.message
        if about or names_it:
            yield replace(finding, where=None) if about else finding


def _changes(name: str, installed: Catalog, after: Catalog) -> list[Difference]:
    """Return how the definitions differ; that files differ between two versions is no news."""
    from strands_cli.lock import compare_distribution, lock_distributions

    old, new = (lock_distributions([one for one in catalog.tools if one.distribution == name], catalog).get(name)
                for catalog in (installed, after))  # fmt: skip
    if old is None or new is None:
        return []
    found = compare_distribution(old, new, whole=True)
    return [one for one in found if one.field not in ("files", "editable", "version")]


def _to_install(fetched: Fetched, installed: Catalog) -> Iterator[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    extras = set(fetched.extras.strip("[]").split(",")) if fetched.extras else {""}
    for text in open_distribution(str(fetched.dist_info)).requires or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            yield f"{text} (which is no requirement)"
            continue
        if wanted.marker is not None and not any(wanted.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        version = installed.version_of(wanted.name)
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            yield str(wanted).partition(";")[0].strip() + (f" ({version} is installed)" if version else "")


def require_allowed(name: str, rules: Sequence[Rule]) -> None:
    """Refuse a distribution that a rule denies whatever its tools and its version are, before it is even fetched.

    Raises:
        Denied: there is such a rule.
    """
    whatever = Request((f"{name}/?", f"native:{name}/?"), distribution=name)
    for rule in rules:
        narrowed = rule.unless or rule.version or rule.sources or rule.capabilities or rule.arguments
        if rule.effect == "deny" and not narrowed and rule.matches(whatever):
            raise _denied(name, Decision("deny", rule.words, rule))


def require_one_allowed(proposal: Proposal) -> None:
    """Refuse a distribution of which policy denies every tool.

    Raises:
        Denied: it does.
    """
    if proposal.tools and all(tool.decision.effect == "deny" for tool in proposal.tools):
        raise _denied(proposal.fetched.name, proposal.tools[0].decision)


def _denied(name: str, decision: Decision) -> Denied:
    message = f"policy denies every tool of '{name}': {decision.rule}"
    fix = f"have the rule changed, if it should not speak of it; strands explain policy native:{name}/TOOL"
    return Denied(message, findings=[Finding("plugin-denied", message, None, fix)])


def asked_for(record: ToolRecord) -> str:
    """Return in words what a tool says that it does and touches; what it does not say is unknown."""
    hints, claims = record.annotations, record.strands_cli
    words = ["only reads"] if hints.get("readOnlyHint") is True else []
    words += ["can destroy"] if hints.get("destructiveHint") is True else []
    words += ["asks each time"] if claims.get("requires_confirmation") else []
    if hints.get("readOnlyHint") is not True:
        words.append("changes something" if "readOnlyHint" in hints else "does not say whether it only reads")
    said = claims.get("capabilities")
    if not isinstance(said, Mapping):
        return "; ".join([*words, "does not say what it touches"])
    touched = [f"{word} {_shown(value)}".strip() for word, value in said.items() if value]
    return "; ".join([*words, *(touched or ["touches nothing"])])


def _shown(value: Any) -> str:
    if value is True:
        return ""
    return ", ".join(_item(one) for one in (value if isinstance(value, list) else [value]))


def _item(one: Any) -> str:
    return f"{one.get('path')} ({one.get('mode')})" if isinstance(one, Mapping) else str(one)
