"""The tools of a distribution that declares none, each with the name that it would have here, or why it has none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from strands_cli.api import AdoptedFile, Finding, Manifest, SourceTool, ToolRecord
from strands_cli_dev.adoption.adoptable_tools import AdoptableTools, find_adoptable
from strands_cli_dev.child_import import ImportFailure, import_in_child
from strands_cli_dev.plugin_check.tool_definitions import MISSING_CAPABILITIES, MISSING_HINT, check_declared

IMPORT_SECONDS = 30.0
MAX_IMPORTS = 50
ALL_IMPORTS_SECONDS = 120.0
# Not a fault of a tool that somebody else made: it is shown as its safety, and every call asks.
_EXPECTED = (MISSING_HINT, MISSING_CAPABILITIES)


class Imports(NamedTuple):
    """The time limits of importing modules: for each one, and for all of them."""

    seconds: float = IMPORT_SECONDS
    total: float = ALL_IMPORTS_SECONDS


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tool that was found.

    Attributes:
        name: The name that it would have in workflows, an alias where its own breaks the rules or is taken.
        tool: Its definition, as far as it is known.
        problem: Why it cannot be adopted; None if it can.
        imported: Whether its definition comes from importing it.
        remarks: Further notes for a person.
    """

    name: str
    tool: SourceTool
    problem: str | None = None
    imported: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Its own name; for a class the class's."""
        return self.tool.called

    @property
    def entry(self) -> str:
        """Its object reference."""
        return self.tool.entry

    @property
    def is_private(self) -> bool:
        """Whether its authors mark it as their own helper, which has to be named to be taken."""
        return self.called.startswith("_") or (self.tool.attribute or "").startswith("_")

    def record(self, adoptable: AdoptableTools) -> ToolRecord:
        """Return the record that the tool would have."""
        return ToolRecord(
            name=self.name,
            distribution=adoptable.distribution,
            version=adoptable.version,
            entry=self.entry,
            entry_name=self.name,
            module=self.tool.module,
            attribute=self.tool.attribute,
            path=adoptable.site,
            kind=self.tool.kind,
            description=self.tool.description,
            input_schema=self.tool.input_schema,
            annotations=self.tool.annotations,
            strands_cli=self.tool.strands_cli,
        )


@dataclass(frozen=True, slots=True)
class Survey:
    """All candidates of a distribution, and the findings on the way."""

    tools: AdoptableTools
    candidates: tuple[Candidate, ...]
    findings: tuple[Finding, ...]

    @property
    def adoptable(self) -> list[Candidate]:
        """Those that can be adopted."""
        return [candidate for candidate in self.candidates if candidate.problem is None]


def survey(
    distribution: str,
    adopted: AdoptedFile,
    taken_names: Collection[str] = (),
    *,
    path: Sequence[str] | None = None,
    imports: Imports | None = None,
    named: Collection[str] = (),
    tell: Callable[[str], None] = lambda _line: None,
) -> Survey:
    """Find the tools of an installed distribution and give each a name.

    Args:
        distribution: Its normalised name.
        adopted: The file that will have the tools; names that it gives them are kept.
        taken_names: The names of the tools of other distributions.
        path: The directories to search; by default those of this interpreter's imports.
        imports: The limits of importing for facts that the source does not show, in child processes; None imports
            nothing.
        named: Names and entries of tools to look for also among more than are listed; only they are imported.
        tell: Takes a line on the progress.
    """
    tools = find_adoptable(distribution, path, named=named, tell=tell)
    loaded = _loaded(tools, imports, named, tell) if imports else {}
    names = _Names(distribution, taken_names, adopted)
    candidates = [_candidate(tool, loaded.get(tool.entry), names, distribution) for tool in tools.tools]
    return Survey(tools, tuple(candidates), tools.findings)


def _candidate(source_tool: SourceTool, loaded: SourceTool | str | None, names: _Names, distribution: str) -> Candidate:
    tool = source_tool
    if isinstance(loaded, SourceTool):
        tool = replace(
            loaded,
            name=loaded.name or source_tool.name,
            file=source_tool.file,
            line=source_tool.line,
            module=source_tool.module,
            attribute=source_tool.attribute,
        )
    bare = Candidate(names.give(tool), tool, imported=isinstance(loaded, SourceTool))
    if source_tool.needs:
        return replace(bare, problem=f"its code must make it: it needs {', '.join(source_tool.needs)}")
    if isinstance(loaded, str):
        return replace(bare, problem=f"it cannot be loaded: {loaded}")
    if source_tool.unknown and loaded is None:
        reasons = "; ".join(source_tool.unknown[:3])
        return replace(bare, problem=f"its source does not show it ({reasons}); try --import")
    if tool.holds_many and not tool.members:
        return replace(bare, problem="it has no tools")
    faults = list(_faults(bare, distribution))
    subject = f"the tool '{bare.name}' "
    errors = [finding.message.removeprefix(subject) for finding in faults if finding.severity == "error"]
    remarks = [finding.message.removeprefix(subject) for finding in faults if finding.severity != "error"]
    if source_tool.computed:
        remarks.append(f"the default of {', '.join(source_tool.computed)} is code, which is not shown")
    return replace(bare, problem="; ".join(errors) or None, remarks=tuple(remarks))


def _faults(candidate: Candidate, distribution: str) -> Iterator[Finding]:
    """Yield the findings of the static part of `plugin check` about a tool and its members."""
    whole = {"name": candidate.name, "entry": candidate.tool.entry, **candidate.tool.definition}
    members = whole.pop("members", {})
    parts = [{"name": name, "entry": candidate.tool.entry, **part} for name, part in members.items()] or [whole]
    for part in parts:
        for finding in check_declared(part, distribution, ""):
            if finding.code not in _EXPECTED:
                yield finding


def _loaded(
    adoptable: AdoptableTools, limits: Imports, named: Collection[str], tell: Callable[[str], None]
) -> dict[str, SourceTool | str]:
    """Import the modules with tools that the source does not show; by entry."""
    attributes_by_module: dict[str, list[str | None]] = {}
    ends = time.monotonic() + limits.total
    for tool in adoptable.tools:
        is_named = not named or {tool.entry, tool.attribute, tool.name} & set(named)
        if tool.unknown and not tool.needs and is_named:
            attributes_by_module.setdefault(tool.module, []).append(tool.attribute)
    loaded: dict[str, SourceTool | str] = {}
    for index, (module, attributes) in enumerate(attributes_by_module.items()):
        answers: Sequence[SourceTool | str]
        left = ends - time.monotonic()
        if index >= MAX_IMPORTS:
            answers = [f"more than {MAX_IMPORTS} modules would have to be imported; name it"] * len(attributes)
        elif left <= 0:
            answers = [f"the {limits.total:g} seconds for all imports were over before it; name it"] * len(attributes)
        else:
            tell(f"importing module {index + 1} of {len(attributes_by_module)}: {module}")
            try:
                seconds = min(limits.seconds, left)
                answers = import_in_child([adoptable.site], module, attributes, seconds, is_limited=True).tools
            except ImportFailure as failure:
                answers = [str(failure)] * len(attributes)
        entries = [f"{module}:{attribute}" if attribute else module for attribute in attributes]
        loaded |= dict(zip(entries, answers, strict=True))
    return loaded


class _Names:
    """Gives each tool a name that workflows can use: its own, or an alias with that of its distribution or module."""

    def __init__(self, distribution: str, taken_names: Collection[str], adopted: AdoptedFile) -> None:
        mine = adopted.distributions.get(distribution)
        self.kept: Mapping[str, str] = {tool.entry: name for name, tool in mine.tools.items()} if mine else {}
        self.taken = {*names_of_others(distribution, adopted), *taken_names, *self.kept.values()}
        self.prefix = word_of(distribution.removeprefix("strands-").removesuffix("-strands"))

    def give(self, tool: SourceTool) -> str:
        """Return the name, which no other tool gets."""
        if tool.entry in self.kept:
            return self.kept[tool.entry]
        own = word_of(tool.called)
        module = word_of(tool.module.rpartition(".")[2])
        choices = [
            own,
            f"{self.prefix}_{own}",
            f"{module}_{own}",
            *(f"{own[:60]}_{count}" for count in range(2, 5_000)),
        ]
        name = next(choice for choice in choices if Manifest.TOOL_NAME.fullmatch(choice) and choice not in self.taken)
        self.taken.add(name)
        return name


def names_of_others(distribution: str, adopted: AdoptedFile) -> set[str]:
    """Return the names that a file gives to tools of other distributions."""
    return {
        name
        for key, adopted_distribution in adopted.distributions.items()
        if key != distribution
        for name in adopted_distribution.tools
    }


def word_of(text: str) -> str:
    """Return a text as a tool name: `A2AClient` as `a2a_client`."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    word = re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")
    return (word if word[:1].isalpha() else f"tool_{word}".rstrip("_"))[:64]
