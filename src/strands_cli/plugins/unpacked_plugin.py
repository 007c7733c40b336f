"""A distribution before its installation: its parts and its changes here, found without an import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.catalog.distributions.entry_points import read_entry_points
from strands_cli.catalog.distributions.scan import scan_installed, search_path
from strands_cli.catalog.packaged_files import PackagedFolder, scan_packaged
from strands_cli.catalog.publisher_records import (
    PublisherFacts,
    record_digest,
    record_digest_of_wheel,
    remove_publisher_facts,
    write_publisher_facts,
)
from strands_cli.catalog.tool_record import TOOL_CONFLICT, ToolRecord
from strands_cli.default_parts import HOOKS
from strands_cli.errors import ArtifactError, Code, Denied, Finding, Where
from strands_cli.hooks.hook_values import HookContext
from strands_cli.hooks.manager import Hooks
from strands_cli.lock.compare import Difference, compare_distribution
from strands_cli.lock.package_documents import lock_distributions, lock_package
from strands_cli.parts.named_parts import Part, declared_faults, declared_in
from strands_cli.planning.planned_tool import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.plugins import collisions as own
from strands_cli.policy.decision import Decision
from strands_cli.policy.rule import Request, Rule
from strands_cli.publishers import Publisher


@dataclass
class UnpackedPlugin(own.UnpackedDistribution):
    """A distribution before its installation, in a folder; nothing of it is imported.

    Attributes:
        alone: Whether installed distributions are left out, so that it looks the same on every machine.
    """

    alone: bool = field(default=False, kw_only=True)

    @cached_property
    def path(self) -> list[str]:
        """The directories to search, its own first."""
        return [str(self.tree), *([] if self.alone else search_path())]

    @cached_property
    def catalog(self) -> Catalog:
        """Its tools, and unless it is alone the installed ones."""
        return discover_catalog(self.path)

    @cached_property
    def _installed(self) -> Catalog:
        return discover_catalog()

    @property
    def records(self) -> tuple[ToolRecord, ...]:
        """The tools that it declares; a class, a suite or a provider is one record with members."""
        here = [record for record in self.catalog.tools if record.distribution == self.name]
        return tuple(record for record in here if record.path == str(self.tree))

    @property
    def hooks(self) -> tuple[str, ...]:
        """The names of its hook plugins."""
        points = read_entry_points(str(self.dist_info), self.name, self.catalog.scan, HOOKS)
        return tuple(sorted(point.name for point in points))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The commands, stores and other parts that it would bring."""
        return tuple(own.parts_of_unpacked(self))

    @property
    def packaged(self) -> tuple[str, ...]:
        """Its workflows, agents and skills, each as `workflow triage`."""
        return tuple(f"{folder.kind} {folder.name}" for folder in _folders(self.name, self.path))

    @property
    def programs(self) -> dict[str, str | None]:
        """The programs that it would install, each with that of the system which it would hide."""
        return {name: own.hidden_program(name) for name in own.programs_of(self)}

    @property
    def start_files(self) -> tuple[str, ...]:
        """The names of its files that Python reads, and may run, whenever it starts."""
        return tuple(own.start_files(self.tree))

    @property
    def foreign_entry_points(self) -> tuple[str, ...]:
        """Its entry points for other programs, which may load them by themselves, each as `group: name`."""
        return tuple(own.foreign_entry_points(self))

    @cached_property
    def data_places(self) -> tuple[str, ...]:
        """The targets of its other files than modules and programs."""
        return tuple(own.data_of(self))

    def collisions(self) -> list[Finding]:
        """Return a finding for each file, program, package or part of others that it would replace or hide."""
        return own.find_collisions(self, self.data_places, self._installed)

    def findings(self) -> Iterator[Finding]:
        """Yield the faults of its tools, and its entry points that nothing will be able to use."""
        for finding in self.catalog.findings:
            about = finding.where is not None and Path(finding.where.file).is_relative_to(self.tree)
            names_it = finding.code == TOOL_CONFLICT and f"'{self.name}'" in finding.message
            if about or names_it:
                yield replace(finding, where=None) if about else finding
        file = self.dist_info / "entry_points.txt"
        declared = declared_in(file.read_bytes()) if file.is_file() else []
        for fault in declared_faults(self.name, declared, Where(str(file))):
            yield replace(fault, where=None, severity="warning")

    def changes(self) -> list[str]:
        """Return how its tools, workflows and agents differ from those of the installed version."""
        return [change.message for change in (*self._changed_tools(), *self._changed_data())]

    def _changed_tools(self) -> list[Difference]:
        """Return the differences between the definitions; files always differ between two versions."""
        old, new = (
            lock_distributions([tool for tool in catalog.tools if tool.distribution == self.name], catalog).get(
                self.name
            )
            for catalog in (self._installed, self.catalog)
        )
        if old is None or new is None:
            return []
        changed = compare_distribution(old, new, whole=True)
        return [change for change in changed if change.field not in ("files", "editable", "version", "publisher")]

    def _changed_data(self) -> list[Difference]:
        """Return how the values in the workflows and agents differ from those of the installed version."""
        old, new = _folders(self.name), _folders(self.name, self.path)
        if not old or not new or self.name not in self._installed.scan.records:
            return []
        before = lock_package(self.name, old, self._installed.scan)
        after = lock_package(self.name, new, scan_installed(self.path))
        return [change for change in compare_distribution(before, after, whole=True) if change.file]

    def is_installed(self) -> bool:
        """Return whether the installed files are its files, by RECORD."""
        digest = record_digest(self.name, scan_installed())
        return digest is not None and digest == self._digest()

    def _digest(self) -> str | None:
        return record_digest_of_wheel(str(self.dist_info), is_mixed=self.is_mixed)

    def keep_publisher(self, publisher: Publisher | None, *, file: str, sha256: str, day: str) -> None:
        """Keep who published it, for policy and lock, where its files are installed now.

        Args:
            publisher: As was verified; None forgets the one that was kept of these files.
            file: The name of its wheel, and `sha256` the digest of that; empty where they are unknown.
            day: When it was verified: `2026-11-23`.

        Raises:
            ArtifactError: It cannot be written.
        """
        digest = self._digest() if self.is_installed() else None
        if digest is None:
            return
        version = scan_installed().version(self.name) or ""
        try:
            if publisher is None:
                remove_publisher_facts(digest)
            else:
                write_publisher_facts(digest, PublisherFacts(self.name, version, file, sha256, publisher, day))
        except OSError as error:
            message = f"the publisher cannot be stored: {error.strerror}"
            raise ArtifactError(message, fix="correct the permissions, or set XDG_DATA_HOME") from error


def _folders(name: str, path: list[str] | None = None) -> tuple[PackagedFolder, ...]:
    """Return the folders of workflows, agents and skills that a distribution declares."""
    return tuple(folder for folder in scan_packaged(path)[0] if folder.distribution == name)


# The policy on distributions that a person wants to install: the rules on all or on each of their tools.


PLUGIN_DENIED = Code(
    "plugin-denied",
    "Policy denies every tool of a distribution, so it is not installed.",
    "Have the rule changed: strands explain policy REF",
    21,
)


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


def require_one_allowed(name: str, decisions: Iterable[Decision]) -> None:
    """Refuse a distribution if policy denies each of its tools.

    Raises:
        Denied: It does.
    """
    every = list(decisions)
    if every and all(decision.effect == "deny" for decision in every):
        raise _denied(name, every[0])


def decision_on(
    record: ToolRecord,
    plugin: UnpackedPlugin,
    rules: Sequence[Rule],
    hooks: Hooks,
    sources: Iterable[str],
    publisher: str | None,
) -> Decision:
    """Return the decision of policy and hook plugins on a tool of a distribution without a place here yet.

    Args:
        sources: The words of rules for where it comes from.
        publisher: Its verified publisher, in the words of a rule; None is unknown.
    """
    ref = f"native:{record.ref_name}"
    request = request_of(installed_tool(record, plugin.catalog, ref))
    request = replace(request, sources=frozenset(sources), publisher=publisher)
    return hooks.allow_tool(record, ref, HookContext(rules=tuple(rules), request=request))


def _denied(name: str, decision: Decision) -> Denied:
    message = f"policy denies every tool of '{name}': {decision.rule}"
    fix = f"have the rule changed, if it should not match; strands explain policy native:{name}/TOOL"
    return Denied(message, findings=[Finding(PLUGIN_DENIED, message, None, fix)])
