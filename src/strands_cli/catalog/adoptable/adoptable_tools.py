"""Every tool of an installed distribution that its source shows, without importing any of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from strands_cli.catalog.adoptable.python_files import MAX_MODULES, PythonFile, python_files
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.distributions.module_files import find_package, module_file, read_file
from strands_cli.catalog.entry_faults import UNREADABLE_SOURCE
from strands_cli.catalog.source.source_module import MAX_SOURCE_BYTES, SourceError
from strands_cli.catalog.source.source_reader import tools_of_module
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.errors import Code, Finding, Where
from strands_cli.quick_dataclass import dataclass

TOO_MUCH_TO_ADOPT = Code(
    "too-much-to-adopt",
    "A distribution has more modules or tools than are looked through.",
    "Name the tools that you need: strands plugin adopt DIST --tool NAME",
)
TWO_OF_ONE_NAME = Code(
    "two-of-one-name",
    "A distribution has several tools of one name, of which only one can have it.",
    "Give one an alias: strands plugin adopt DIST --tool ENTRY=ALIAS",
)

MAX_TOOLS = 1_000
PROGRESS_SECONDS = 2.0
# How long the source of a distribution is read.
READ_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class AdoptableTools:
    """What the source of a distribution shows.

    Attributes:
        distribution: Its normalised name.
        version: The installed version; None if its record does not state one.
        site: The directory of `sys.path` that contains it.
        files: Its modules.
        tools: Its tools, by module and line.
        findings: What cannot be read, or is left out.
    """

    distribution: str
    version: str | None
    site: str
    files: tuple[PythonFile, ...]
    tools: tuple[SourceTool, ...]
    findings: tuple[Finding, ...]


def find_adoptable(
    distribution: str,
    seen: Scan,
    only: str | None = None,
    named: Collection[str] = (),
    tell: Callable[[str], None] = lambda _line: None,
    seconds: float = READ_SECONDS,
) -> AdoptableTools:
    """Return the tools of an installed distribution.

    Args:
        distribution: Its normalised name, which is among `seen.records`.
        only: A tool's name; modules that do not contain it are not parsed.
        named: Names and entries of tools that are there also if there are more than `MAX_TOOLS` before.
        tell: Takes a line on the progress, every few seconds.
        seconds: How long its source is read; after that, only modules that contain one of the named are.
    """
    files = python_files(distribution, seen)
    findings: list[Finding] = []
    if len(files) > MAX_MODULES:
        message = f"'{distribution}' has more than {MAX_MODULES:,} modules; the others are not looked through"
        findings.append(Finding(TOO_MUCH_TO_ADOPT, message, severity="warning"))
    tools: list[SourceTool] = []
    fix = f"name the tools that you need: strands plugin adopt {distribution} --tool NAME"
    words: Collection[str] = (only,) if only else ()
    said, ends = time.monotonic(), time.monotonic() + seconds
    for number, file in enumerate(files[:MAX_MODULES]):
        now = time.monotonic()
        if now > said + PROGRESS_SECONDS:
            said = now
            tell(f"read {number:,} of {len(files):,} modules of {distribution}, {len(tools):,} tools so far")
        if now >= ends and not words:
            ends, words = math.inf, tuple(name.rpartition(":")[2].rpartition(".")[2] for name in named)
            message = (
                f"the modules of '{distribution}' from {file.module} on are left out: {number:,} of {len(files):,}"
            )
            message += f" were read in {seconds:g} seconds"
            findings.append(Finding(TOO_MUCH_TO_ADOPT, message, None, fix, "warning"))
            if not words:
                break
        tools += _tools_in(file, distribution, seen, words, findings)
        if len(tools) > MAX_TOOLS and not named:
            break
    kept = tools[:MAX_TOOLS]
    if len(tools) > MAX_TOOLS:
        message = f"'{distribution}' has more than {MAX_TOOLS:,} tools; those after {kept[-1].entry} are left out"
        findings.append(Finding(TOO_MUCH_TO_ADOPT, message, None, fix, "warning"))
        kept += [one for one in tools[MAX_TOOLS:] if {one.entry, one.attribute, one.name} & set(named)][:MAX_TOOLS]
    findings += _twins(kept, distribution)
    site = seen.records[distribution][0][0]
    return AdoptableTools(
        distribution, seen.version(distribution), site, tuple(files[:MAX_MODULES]), tuple(kept), tuple(findings)
    )


def _tools_in(
    file: PythonFile, distribution: str, seen: Scan, words: Collection[str], findings: list[Finding]
) -> Sequence[SourceTool]:
    try:
        raw = read_file(file.path, MAX_SOURCE_BYTES)
    except OSError as error:
        message = f"'{distribution}' has a module that cannot be opened ({error.strerror})"
        findings.append(Finding(UNREADABLE_SOURCE, message, Where(file.path), severity="warning"))
        return ()
    if raw is None or not _may_have_tools(raw) or (words and not any(word.encode() in raw for word in words)):
        return ()
    package = find_package(file.module.partition(".")[0], seen.listings, seen.records[distribution][0][0])

    def read_module(name: str) -> tuple[str, bytes] | None:
        if name == file.module:
            return file.path, raw
        found = module_file(package, name) if package else None
        try:
            text = read_file(found, MAX_SOURCE_BYTES) if found else None
        except OSError:
            return None
        return None if found is None or text is None else (found, text)

    try:
        return tools_of_module(file.module, read_module)
    except (SourceError, RecursionError) as error:
        where = Where(file.path, getattr(error, "line", None))
        message = f"'{distribution}' has a module that cannot be read: {error}"
        findings.append(Finding(UNREADABLE_SOURCE, message, where, severity="warning"))
        return ()


def _may_have_tools(raw: bytes) -> bool:
    """Return whether a module may define a tool: parsing takes a hundred times longer than this."""
    return b"TOOL_SPEC" in raw or (b"strands" in raw and (b"tool" in raw or b"Tool" in raw))


def _twins(tools: Iterable[SourceTool], distribution: str) -> Iterator[Finding]:
    named: dict[str, list[SourceTool]] = {}
    for found in tools:
        if found.name:
            named.setdefault(found.name, []).append(found)
    for name, twins in named.items():
        if len(twins) > 1:
            entries = ", ".join(one.entry for one in twins[:5]) + (", ..." if len(twins) > 5 else "")
            message = f"'{distribution}' has {len(twins)} tools named '{name}': {entries}"
            fix = f"give one an alias: strands plugin adopt {distribution} --tool {twins[1].entry}=ALIAS"
            yield Finding(TWO_OF_ONE_NAME, message, None, fix, "warning")
