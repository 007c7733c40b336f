"""What policy is made of: `Rule`, one line of it, and `Request`, one tool or call that it speaks of."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from strands_cli.policy.argument_globs import fits_any, fits_every
from strands_cli.versions import satisfies

Effect = Literal["allow", "ask", "deny"]
Level = Literal["managed", "user", "project", "command line", "workflow"]
Source = Literal[
    "index", "editable", "vcs", "archive", "directory", "zip", "user-site", "PYTHONPATH", "custom", "object", "hook",
    "mcp",
]  # fmt: skip
Capability = Literal["network", "filesystem", "subprocess", "env", "secrets"]
# How a rule stands to a request: it speaks of it, does not, or does for some arguments, which are not known yet.
Standing = Literal["yes", "no", "depends"]

EFFECTS: tuple[Effect, ...] = get_args(Effect)
# From the strongest to the weakest; the levels above the command line are files that stay.
LEVELS: tuple[Level, ...] = get_args(Level)
SOURCES: tuple[Source, ...] = get_args(Source)
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
# Among the sources of a tool: how it was installed cannot be told.
UNKNOWN_SOURCE = "unknown"

_PATH = re.compile(r"(?:strands_cli\.tools|strands_tools)[.:]([^.:/]+)(?:[.:]\1)?")
_TYPED: frozenset[Level] = frozenset({"command line", "workflow"})


@dataclass(frozen=True, slots=True)
class Request:
    """One tool, or one call of it, as policy sees it.

    Attributes:
        names: All names the tool goes by (`file_write`, `native:file_write`, `strands-tool-files/file_write`).
        annotations: The MCP hints of the tool; a missing key means unknown.
        claims: Its `strands_cli` object; a missing key means unknown.
        read_only_now: Whether `read_only_when` matched these very arguments.
        distribution: Normalised name of the distribution; None where none ships it.
        version: The distribution's version; None is unknown.
        sources: Words of `SOURCES`, all that apply, and perhaps `UNKNOWN_SOURCE`; nothing is unknown.
        arguments: The call's arguments with defaults filled in; None before there is a call.
        custom: The canonical reference (`module:attr`) of Python that no distribution ships; else None.
        aliases: Names that the workflow, or code once loaded, chose. They never loosen a rule of a file.
        composed: Whether a workflow made it of other tools, each call of which is asked about by itself.
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
    aliases: tuple[str, ...] = ()
    composed: bool = False

    @property
    def capabilities(self) -> Mapping[str, bool | None]:
        """What the tool says it can do, by every word of `CAPABILITIES`; None where it does not say."""
        said = self.claims.get("capabilities")
        if not isinstance(said, Mapping):
            return dict.fromkeys(CAPABILITIES)
        return {word: _is_able(said.get(word)) for word in CAPABILITIES}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of policy; every field beyond the tools narrows what it speaks of.

    Attributes:
        effect: What it says.
        tools: A name or a glob of names, in any form that a workflow can write.
        level: Who says it.
        origin: Where it is written, for people (`strands-policy.yaml:4`).
        unless: Names or globs of tools that it does not speak of.
        arguments: Pairs of an argument's dotted path and a glob, all of which must fit.
        distribution: Globs of distributions, one of which must fit.
        version: PEP 440 specifier of the distribution's version.
        sources: Where the tool may come from, one of these.
        capabilities: What the tool can do, one of these.
        reason: What people are told with the decision.
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

    @property
    def words(self) -> str:
        """Where it is written and why, as a decision quotes it."""
        return f"{self.origin}: {self.reason}" if self.reason else self.origin

    @property
    def pattern(self) -> str:
        """The tools and arguments it speaks of, as a file has them."""
        if not self.arguments:
            return self.tools
        return f"{self.tools}({', '.join(f'{path}={glob}' for path, glob in self.arguments)})"

    def matches(self, request: Request) -> bool:
        """Return whether the rule speaks of this request; one on arguments does not speak of a tool as such."""
        return self.standing(request) == "yes"

    def standing(self, request: Request) -> Standing:
        """Return how the rule stands to a request.

        What is not known of a tool fits every rule that asks or denies, and none that allows.
        """
        loosens = self.effect == "allow"
        if not self._names(request, loosens):
            return "no"
        for known in (self._by_distribution(request), self._by_version(request),
                      self._by_source(request, loosens), self._by_capability(request, loosens)):  # fmt: skip
            if known is False or (known is None and loosens):
                return "no"
        if not self.arguments:
            return "yes"
        if request.arguments is None:
            return "depends"
        fits = fits_every if loosens else fits_any
        return "yes" if all(fits(request.arguments, path, glob) for path, glob in self.arguments) else "no"

    def _names(self, request: Request, loosens: bool) -> bool:
        everything = (*request.names, *request.aliases)
        certain = everything if self.level in _TYPED else request.names
        if any(named(pattern, certain) for pattern in self.unless):
            return False
        if loosens and request.custom is not None and self.level not in _TYPED:
            return names_custom(self.tools, request.custom)
        return named(self.tools, certain if loosens else everything)

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

    def _by_capability(self, request: Request, loosens: bool) -> bool | None:
        if not self.capabilities:
            return True
        said = request.capabilities
        if loosens:  # what else it can do, the rule does not allow
            can = {word for word, able in said.items() if able is not False}
            return None not in said.values() and bool(can) and can <= set(self.capabilities)
        able = [said[word] for word in self.capabilities]
        return True if True in able else None if None in able else False


def _is_able(said: Any) -> bool | None:
    """Return whether a tool says that it can; only `false` and an empty list say that it cannot."""
    if said is False or (isinstance(said, (list, tuple)) and not said):
        return False
    return True if said else None


def named(pattern: str, names: tuple[str, ...]) -> bool:
    """Return whether a name or glob fits one of some names; a distribution in it may be spelt in any way.

    The older paths (`strands_cli.tools.foo`, `strands_tools.foo`) mean `native:foo`, as they do where tools are named.
    """
    if (path := _PATH.fullmatch(pattern)) and named(f"native:{path[1]}", names):
        return True
    head, slash, tool = pattern.rpartition("/")
    if slash and not pattern.startswith("mcp:"):  # the ids of servers have one spelling
        prefix, colon, distribution = head.rpartition(":")
        pattern = f"{prefix}{colon}{normalised(distribution)}/{tool}"
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def named_any(patterns: tuple[str, ...], distribution: str) -> bool:
    """Return whether one of some globs fits a distribution's name, however either is spelt."""
    return any(fnmatch.fnmatchcase(normalised(distribution), normalised(pattern)) for pattern in patterns)


def normalised(distribution: str) -> str:
    """Return the one spelling of a distribution's name, or of a glob of names."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def names_custom(pattern: str, reference: str) -> bool:
    """Return whether a pattern names `pkg.module:attr` itself or a package that holds it (`pkg.*`); no other glob does.

    Args:
        pattern: A word of the allowlist, or the tools of a rule.
        reference: Custom Python, with `:` or `.` before the attribute.
    """
    dotted, pattern = reference.replace(":", "."), pattern.replace(":", ".")
    # The dot before the star stays in the comparison: `pkg.*` must not allow `pkgs.evil`.
    package = pattern[:-1] if pattern.endswith(".*") and len(pattern) > 2 else None
    return dotted == pattern or (package is not None and dotted.startswith(package))
