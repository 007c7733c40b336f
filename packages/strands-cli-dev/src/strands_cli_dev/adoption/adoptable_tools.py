"""Every tool of an installed distribution that its source shows, without importing any of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, distributions

from packaging.utils import canonicalize_name

from strands_cli.api import Code, Finding, InvalidInput, PluginSource, SourceTool
from strands_cli_dev.adoption.python_files import MAX_MODULES, PythonFile, find_distribution, python_files

TOO_MUCH_TO_ADOPT = Code(
    "too-much-to-adopt",
    "A distribution has more modules or tools than are looked through.",
    "Name the tools: strands plugin adopt DIST --tool NAME",
)
TWO_OF_ONE_NAME = Code(
    "two-of-one-name",
    "A distribution has several tools of one name.",
    "Give one an alias: strands plugin adopt DIST --tool ENTRY=ALIAS",
)

MAX_TOOLS = 1_000
PROGRESS_SECONDS = 2.0
# How long the source of a distribution is read.
READ_SECONDS = 60.0
SDK = "strands-agents"
OURS = "strands-cli"
MAX_DISTRIBUTIONS = 40
TOOLS = "strands_cli.tools"


@dataclass(frozen=True, slots=True)
class AdoptableTools:
    """The tools that the source of a distribution shows.

    Attributes:
        distribution: Its normalised name.
        version: The installed version; None if its record does not state one.
        site: The directory of `sys.path` that contains it.
        files: Its modules.
        tools: Its tools, by module and line.
        findings: Unreadable or omitted parts.
    """

    distribution: str
    version: str | None
    site: str
    files: tuple[PythonFile, ...]
    tools: tuple[SourceTool, ...]
    findings: tuple[Finding, ...]


def find_adoptable(
    name: str,
    path: Sequence[str] | None = None,
    *,
    only: str | None = None,
    named: Collection[str] = (),
    tell: Callable[[str], None] = lambda _line: None,
    seconds: float = READ_SECONDS,
) -> AdoptableTools:
    """Return the tools of an installed distribution; none where it is not installed.

    Args:
        name: Its normalised name.
        path: The directories to search; by default those of this interpreter's imports.
        only: A tool's name; modules that do not contain it are not parsed.
        named: Names and entries of tools that are there also if there are more than `MAX_TOOLS` before.
        tell: Takes a line on the progress, every few seconds.
        seconds: How long its source is read; after that, only modules that contain one of the named are.
    """
    record, source = find_distribution(name, path), PluginSource.installed(name, path)
    if record is None or source is None:
        return AdoptableTools(name, None, "", (), (), ())
    files = python_files(record)
    findings: list[Finding] = []
    if len(files) > MAX_MODULES:
        message = f"'{name}' has more than {MAX_MODULES:,} modules; the others are not looked through"
        findings.append(Finding(TOO_MUCH_TO_ADOPT, message, severity="warning"))
    tools: list[SourceTool] = []
    fix = f"name the tools that you need: strands plugin adopt {name} --tool NAME"
    words: Collection[str] = (only,) if only else ()
    told_at, ends = time.monotonic(), time.monotonic() + seconds
    for number, file in enumerate(files[:MAX_MODULES]):
        now = time.monotonic()
        if now > told_at + PROGRESS_SECONDS:
            told_at = now
            tell(f"read {number:,} of {len(files):,} modules of {name}, {len(tools):,} tools so far")
        if now >= ends and not words:
            ends, words = math.inf, tuple(entry_name.rpartition(":")[2].rpartition(".")[2] for entry_name in named)
            message = f"the modules of '{name}' from {file.module} on are left out: {number:,} of {len(files):,}"
            message += f" were read in {seconds:g} seconds"
            findings.append(Finding(TOO_MUCH_TO_ADOPT, message, None, fix, "warning"))
            if not words:
                break
        try:
            tools += source.tools_in(file.module, file.path, words)
        except InvalidInput as error:
            findings += [replace(finding, severity="warning") for finding in error.findings]
        if len(tools) > MAX_TOOLS and not named:
            break
    kept_tools = tools[:MAX_TOOLS]
    if len(tools) > MAX_TOOLS:
        message = f"'{name}' has more than {MAX_TOOLS:,} tools; those after {kept_tools[-1].entry} are left out"
        findings.append(Finding(TOO_MUCH_TO_ADOPT, message, None, fix, "warning"))
        kept_tools += [tool for tool in tools[MAX_TOOLS:] if {tool.entry, tool.attribute, tool.name} & set(named)][
            :MAX_TOOLS
        ]
    findings += _twins(kept_tools, name)
    return AdoptableTools(
        name, record.version, str(source.root), tuple(files[:MAX_MODULES]), tuple(kept_tools), tuple(findings)
    )


def _twins(tools: Iterable[SourceTool], distribution: str) -> Iterator[Finding]:
    named: dict[str, list[SourceTool]] = {}
    for tool in tools:
        if tool.name:
            named.setdefault(tool.name, []).append(tool)
    for name, twins in named.items():
        if len(twins) > 1:
            entries = ", ".join(twin.entry for twin in twins[:5]) + (", ..." if len(twins) > 5 else "")
            message = f"'{distribution}' has {len(twins)} tools named '{name}': {entries}"
            fix = f"give one an alias: strands plugin adopt {distribution} --tool {twins[1].entry}=ALIAS"
            yield Finding(TWO_OF_ONE_NAME, message, None, fix, "warning")


def find_owner(name: str) -> tuple[str, str] | None:
    """Return the installed distribution of an undeclared tool of this name, and the tool's own name.

    Only distributions that need the SDK are looked through, and only modules that contain the name are parsed.
    """
    # A part of the name, which is in the source in every spelling.
    word = max(name.replace("-", "_").split("_"), key=len)
    for distribution in adoptable_distributions()[:MAX_DISTRIBUTIONS]:
        for tool in find_adoptable(distribution, only=word).tools:
            if tool.name and not tool.needs and _folded(tool.name) == _folded(name):
                return distribution, tool.name
    return None


def adoptable_distributions() -> list[str]:
    """Return the distributions that need the SDK and declare no tools; those with its name in theirs first."""
    installed = {
        canonicalize_name(distribution.name): distribution
        for distribution in reversed([*distributions()])
        if distribution.name
    }
    others = [
        name
        for name, distribution in installed.items()
        if name not in (SDK, OURS) and not distribution.entry_points.select(group=TOOLS) and _needs_sdk(distribution)
    ]
    return sorted(others, key=lambda name: ("strands" not in name, name))


def _needs_sdk(distribution: Distribution) -> bool:
    return any(canonicalize_name(line[: len(SDK)]) == SDK for line in distribution.requires or ())


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
