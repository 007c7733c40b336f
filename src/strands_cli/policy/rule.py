"""`Rule`, one rule of policy, and the requests that it matches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, get_args

from strands_cli.policy.argument_globs import (
    connects_only_to,
    connects_to,
    fits_any,
    fits_every,
    is_doubtful,
    matches_glob,
    readings,
    values_of,
)
from strands_cli.policy.file_places import FilledEntry, Workspace, fill_entry, lies_within, reaches
from strands_cli.policy.tool_claims import admitted, named, named_any, names_custom
from strands_cli.quick_dataclass import dataclass
from strands_cli.versions import satisfies

# `Request`, the tool or the call to which rules apply.


Capability = Literal["network", "filesystem", "subprocess", "env", "secrets"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)


@dataclass(frozen=True, slots=True)
class Request:
    """One tool, or one call of it, in the form for the permission check.

    Attributes:
        names: All names of the tool (`file_write`, `native:file_write`, `strands-tool-files/file_write`).
        annotations: The MCP hints of the tool; a missing key means unknown.
        claims: Its `strands_cli` object; a missing key means unknown.
        read_only_now: Whether `read_only_when` matches these arguments.
        distribution: Normalised name of the distribution; None without a distribution.
        version: The distribution's version; None is unknown.
        sources: All of `SOURCES` that apply, and perhaps `UNKNOWN_SOURCE`; an empty set means unknown.
        arguments: The call's arguments with defaults filled in; None for a tool before its calls.
        custom: The canonical reference (`module:attr`) of Python outside distributions; else None.
        custom_folder: The folder of the workflow's `python_path`, without links, in which Python finds `custom`; None
            if it finds it without.
        aliases: Names that the workflow or loaded code chooses. They loosen nothing.
        typed_names: Names that the workflow chooses, and by which the command line may allow it all the same.
        composed: Whether the workflow composes it of other tools, each call of which has its own decision.
        workspace: Where the relative paths of the call begin; by default in the current directory.
        publisher: The verified publisher of the distribution (`github:acme/tool`); None is unknown.
    """

    names: tuple[str, ...]
    annotations: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    read_only_now: bool = False
    distribution: str | None = None
    version: str | None = None
    sources: frozenset[str] = frozenset()
    arguments: Mapping[str, Any] | None = None
    custom: str | None = None
    custom_folder: str | None = None
    aliases: tuple[str, ...] = ()
    typed_names: tuple[str, ...] = ()
    composed: bool = False
    workspace: Workspace = field(default_factory=Workspace)
    publisher: str | None = None

    @property
    def capabilities(self) -> Mapping[str, bool | None]:
        """Whether the tool has each of `CAPABILITIES`; None if it does not declare it."""
        declared = self.claims.get("capabilities")
        if not isinstance(declared, Mapping):
            return dict.fromkeys(CAPABILITIES)
        return {name: _is_able(declared.get(name)) for name in CAPABILITIES}


def _is_able(declared: Any) -> bool | None:
    """Return whether a tool declares a capability; only `false` and an empty list declare that it has none."""
    if declared is False or (isinstance(declared, (list, tuple)) and not declared):
        return False
    return True if declared else None


# Compare the files and addresses of a call, as its tool declares them, with the globs of a rule.


Access = Literal["reads", "writes", "connects"]
ACCESSES: tuple[Access, ...] = ("reads", "writes", "connects")
# Kinds of resources in the form of web addresses, whichever access declares them.
_ADDRESSES = frozenset({"url", "host"})


def touches_any(request: Request, access: Access, globs: Sequence[str]) -> bool | None:
    """Return whether a call touches something that a glob matches; None if that depends on arguments not known yet.

    An undeclared resource may be anything, so it matches.
    """
    entries = _entries(request, access)
    if entries is None:
        return True
    if request.arguments is None:
        return None if entries else False
    filled = [fill_entry(entry, request.arguments) for entry in entries]
    return any(entry is None or _meets(entry, access, globs, request) for entry in filled)


def touches_only(request: Request, allowed: Mapping[Access, Sequence[str]]) -> bool | None:
    """Return whether all that a call touches is certainly matched; None if that depends on arguments not known yet."""
    declared = {access: _entries(request, access) for access in ACCESSES}
    if None in declared.values() or not any(declared[access] for access in allowed):
        return False
    if request.arguments is None:
        return None
    for access, entries in declared.items():
        for entry in entries or ():
            filled = fill_entry(entry, request.arguments)
            if filled is None or not _is_within(filled, allowed.get(access, ()), request):
                return False
    return True


def kinds_of_argument(request: Request, argument: str) -> frozenset[str]:
    """Return the kinds of the declared resources whose whole name is an argument (`file:{path}`)."""
    entries = [entry for access in ACCESSES for entry in _declared(request).get(access) or ()]
    return frozenset(str(entry).partition(":")[0] for entry in entries if str(entry).endswith(f":{{{argument}}}"))


def _declared(request: Request) -> dict[Access, list[Any]]:
    declared = request.claims.get("resources")
    if not isinstance(declared, Mapping):
        return {}
    return {access: list(entries) for access in ACCESSES if isinstance(entries := declared.get(access), (list, tuple))}


def _entries(request: Request, access: Access) -> list[Any] | None:
    """Return the entries of a tool's `reads`, `writes` or `connects`; None if it does not declare them."""
    declared, able = _declared(request), request.capabilities
    if access != "connects":
        entries = declared.get(access, None if able["filesystem"] is not False else [])
        return entries if entries is None else [entry for entry in entries if not _is_address(entry)]
    addresses = [entry for key in ("reads", "writes") for entry in declared.get(key) or () if _is_address(entry)]
    if "connects" in declared or addresses:
        return [*declared.get("connects", ()), *addresses]
    return _hosts(request) if able["network"] is not False else []


def _is_address(entry: Any) -> bool:
    return isinstance(entry, str) and entry.partition(":")[0] in _ADDRESSES


def _hosts(request: Request) -> list[str] | None:
    """Return the hosts to which a tool says that it connects; None if they can be any."""
    hosts = (request.claims.get("capabilities") or {}).get("network")
    if not isinstance(hosts, (list, tuple)) or any("*" in str(host) or "{" in str(host) for host in hosts):
        return None
    return [f"host:{host}" for host in hosts]


def _meets(filled: FilledEntry, access: Access, globs: Sequence[str], request: Request) -> bool:
    if filled.names is None:
        return True
    if access == "connects":
        return any(connects_to(name, glob, filled.kind) for name in filled.names for glob in globs)
    if filled.kind == "file":
        return any(reaches(name, globs, request.workspace) for name in filled.names)
    texts = [form.casefold() for name in filled.names for form in readings(f"{filled.kind}:{name}")]
    return any(matches_glob(text, glob.casefold()) for text in texts for glob in globs)


def _is_within(filled: FilledEntry, globs: Sequence[str], request: Request) -> bool:
    if filled.names is None or not globs:
        return False
    if filled.kind == "file":
        return all(lies_within(name, globs, request.workspace) for name in filled.names)
    if _is_address(filled.kind):
        return all(any(connects_only_to(name, glob) for glob in globs) for name in filled.names)
    texts = [f"{filled.kind}:{name}" for name in filled.names]
    return all(not is_doubtful(text) and any(matches_glob(text, glob) for glob in globs) for text in texts)


Effect = Literal["allow", "ask", "deny"]
Level = Literal["managed", "user", "project", "command line", "workflow"]
Source = Literal[
    "index",
    "editable",
    "vcs",
    "archive",
    "directory",
    "zip",
    "user-site",
    "PYTHONPATH",
    "custom",
    "object",
    "hook",
    "adopted",
    "mcp",
    "late",
]
# Whether a rule matches a request: yes, no, or depending on arguments still unknown.
Standing = Literal["yes", "no", "depends"]

EFFECTS: tuple[Effect, ...] = get_args(Effect)
# From the strongest to the weakest; the levels above the command line are files.
LEVELS: tuple[Level, ...] = get_args(Level)
SOURCES: tuple[Source, ...] = get_args(Source)
# The source of a tool that another one registers with its agent during a run.
LATE: Source = "late"
# A source of a tool if its origin is unknown.
UNKNOWN_SOURCE = "unknown"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of policy; every field after `tools` restricts the calls that it matches.

    Attributes:
        effect: The decision.
        tools: A name or a glob of names, in any form that a workflow can write.
        level: The level of the file, command line or workflow with the rule.
        origin: The place of the rule (`strands-policy.yaml:4`).
        unless: Names or globs of tools that it does not match.
        arguments: Pairs of an argument's dotted path and a glob, all of which must match.
        distribution: Globs of distributions, one of which must match.
        version: PEP 440 specifier of the distribution's version.
        sources: The tool must have one of these sources.
        capabilities: The tool must have one of these capabilities.
        reason: The reason that people see with the decision.
        touching: Pairs of an access and globs of the resources that the call reads, writes or connects to.
        folder: The folder, without links, in which a workflow's own Python must be that the rule allows.
        publisher: Patterns of publishers (`github:acme/*`), one of which must match.
    """

    effect: Effect
    tools: str
    level: Level
    origin: str
    unless: tuple[str, ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    distribution: tuple[str, ...] = ()
    version: str | None = None
    sources: tuple[Source, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    reason: str | None = None
    touching: tuple[tuple[Access, tuple[str, ...]], ...] = ()
    folder: str | None = None
    publisher: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The place and the reason of the rule, as a decision quotes them."""
        return f"{self.origin}: {self.reason}" if self.reason else self.origin

    @property
    def pattern(self) -> str:
        """The tools, arguments and resources that it matches, as a file writes them."""
        arguments = ", ".join(f"{path}={glob}" for path, glob in self.arguments)
        resources = "".join(f" {access}: {', '.join(globs)}" for access, globs in self.touching)
        return f"{self.tools}({arguments}){resources}" if arguments else f"{self.tools}{resources}"

    @property
    def is_conditional(self) -> bool:
        """Whether it depends on the arguments of a call."""
        return bool(self.arguments or self.touching)

    def matches(self, request: Request) -> bool:
        """Return whether the rule matches the request; a rule on arguments does not match a tool before its calls."""
        return self.standing(request) == "yes"

    def standing(self, request: Request) -> Standing:
        """Return whether the rule matches a request.

        An unknown property of a tool matches every rule that asks or denies, and no rule that allows.
        """
        loosens = self.effect == "allow"
        if not self._names(request, loosens):
            return "no"
        for fits in (
            self._by_distribution(request),
            self._by_version(request),
            self._by_source(request, loosens),
            self._by_capability(request, loosens),
            self._by_publisher(request),
        ):
            if fits is False or (fits is None and loosens):
                return "no"
        conditions = [
            self._by_resources(request),
            *(self._by_argument(request, *argument) for argument in self.arguments),
        ]
        if False in conditions:
            return "no"
        return "depends" if None in conditions else "yes"

    def _by_resources(self, request: Request) -> bool | None:
        """Return whether a call touches the resources of the rule: any of them, or for an allow rule nothing else."""
        if not self.touching:
            return True
        if request.composed:  # each call of its tools has its own decision
            return False
        if self.effect == "allow":
            return touches_only(request, dict(self.touching))
        touches = [touches_any(request, access, globs) for access, globs in self.touching]
        return True if True in touches else None if None in touches else False

    def _by_argument(self, request: Request, path: str, glob: str) -> bool | None:
        if request.arguments is None:
            return None
        names_file = "file" in kinds_of_argument(request, path)
        if self.effect != "allow":
            texts = [value for value in values_of(request.arguments, path) if isinstance(value, str)]
            is_reached = names_file and any(reaches(text, [glob], request.workspace) for text in texts)
            return is_reached or fits_any(request.arguments, path, glob)
        if not names_file:
            return fits_every(request.arguments, path, glob)
        values = list(values_of(request.arguments, path))
        return bool(values) and all(
            isinstance(value, str) and lies_within(value, [glob], request.workspace) for value in values
        )

    def _names(self, request: Request, loosens: bool) -> bool:
        everything = (*request.names, *request.aliases)
        # The workflow's own exceptions may have its own names; a rule that loosens names the tool itself.
        own = self.level == "workflow" and LATE not in request.sources
        by_file = self.level not in ("command line", "workflow")
        distribution = request.distribution if by_file else None
        if any(admitted(pattern, everything if own else request.names, distribution) for pattern in self.unless):
            return False
        if loosens and request.custom is not None and by_file:
            return names_custom(self.tools, request.custom) and self._means_folder(request.custom_folder)
        if loosens and by_file and not self.distribution:
            return admitted(self.tools, request.names, distribution)
        typed = request.typed_names if self.level == "command line" else ()
        return named(self.tools, (*request.names, *typed) if loosens else everything)

    def _by_distribution(self, request: Request) -> bool | None:
        if not self.distribution:
            return True
        return request.distribution is not None and named_any(self.distribution, request.distribution)

    def _by_version(self, request: Request) -> bool | None:
        if self.version is None:
            return True
        try:
            return None if request.version is None else satisfies(request.version, self.version)
        except ValueError:
            return None

    def _by_source(self, request: Request, loosens: bool) -> bool | None:
        if not self.sources:
            return True
        is_known = bool(request.sources) and UNKNOWN_SOURCE not in request.sources
        if loosens:
            return is_known and request.sources <= set(self.sources)
        return bool(request.sources & set(self.sources)) or (False if is_known else None)

    def _by_publisher(self, request: Request) -> bool | None:
        if not self.publisher:
            return True
        if request.publisher is None:
            return None
        from strands_cli.publishers import matches_publisher

        return matches_publisher(self.publisher, request.publisher)

    def _means_folder(self, folder: str | None) -> bool:
        """Return whether the rule means Python in a folder of a workflow; None is Python that needs no such folder.

        A name alone in a file that always counts would allow whatever folder has a module of that name.
        """
        if self.folder is None:
            return folder is None or self.level == "project"
        return folder is not None and Path(folder).is_relative_to(self.folder)

    def _by_capability(self, request: Request, loosens: bool) -> bool | None:
        if not self.capabilities:
            return True
        capabilities = request.capabilities
        if loosens:  # the rule must allow all of the tool's capabilities
            present = {name for name, able in capabilities.items() if able is not False}
            return None not in capabilities.values() and bool(present) and present <= set(self.capabilities)
        able = [capabilities[name] for name in self.capabilities]
        return True if True in able else None if None in able else False


# Parse the patterns of rules: `file_write`, `native:http_*`, `file_write(path=docs/**, mode=create)`.


MAX_LENGTH = 1000

_PATTERN = re.compile(r"([^()\s=,]+)(?:\((.*)\))?", re.DOTALL)
_PATH = re.compile(r"[^\s()=,*?.]+(?:\.[^\s()=,*?.]+)*")
# A comma ends an argument only if another `name=` follows, so that globs may contain commas.
_NEXT = re.compile(r",(?=\s*[^\s()=,*?]+\s*=)")


class PatternError(ValueError):
    """A text is not a pattern; the message gives the reason."""


def parse_pattern(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the tools that a pattern names, and its pairs of argument and glob.

    Raises:
        PatternError: The text is not a pattern.
    """
    if len(text) > MAX_LENGTH:
        raise PatternError(f"is {len(text)} characters long; at most {MAX_LENGTH} are read")
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise PatternError("is not a tool's name, a glob, or name(argument=glob)")
    tools, arguments = match.groups()
    if "@" in tools:
        raise PatternError("has a version, which a policy file sets with the key `version`")
    if arguments is None:
        return tools, ()
    return tools, tuple(_argument(part) for part in _NEXT.split(arguments))


def _argument(text: str) -> tuple[str, str]:
    path, equals, glob = text.strip().partition("=")
    if not equals or not _PATH.fullmatch(path.strip()):
        raise PatternError(f"has {text.strip()!r} between its brackets, which is not argument=glob")
    if not glob.strip():
        raise PatternError(f"has no glob for the argument {path.strip()!r}; write '**' for every value")
    return path.strip(), glob.strip()


def make_rule(effect: Effect, pattern: str, level: Level, origin: str, **narrowing: Any) -> Rule:
    """Return the rule for a pattern; `narrowing` are further fields of `Rule`.

    Raises:
        PatternError: The text is not a pattern.
    """
    tools, arguments = parse_pattern(pattern)
    return Rule(effect, tools, level, origin, arguments=arguments, **narrowing)
