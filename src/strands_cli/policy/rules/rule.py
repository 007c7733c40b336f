"""`Rule`, one rule of policy, and the requests that it matches."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from strands_cli.policy.matching.argument_globs import fits_any, fits_every, values_of
from strands_cli.policy.matching.file_places import lies_within, reaches
from strands_cli.policy.rules.tool_request import Capability, Request
from strands_cli.policy.rules.touched_resources import Access, kinds_of_argument, touches_any, touches_only
from strands_cli.policy.tool_names import admitted, named, named_any, names_custom
from strands_cli.quick_dataclass import dataclass
from strands_cli.versions import satisfies

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
# Whether a rule matches a request: yes, no, or depending on arguments that are not known yet.
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
        for known in (
            self._by_distribution(request),
            self._by_version(request),
            self._by_source(request, loosens),
            self._by_capability(request, loosens),
            self._by_publisher(request),
        ):
            if known is False or (known is None and loosens):
                return "no"
        conditions = [self._by_resources(request), *(self._by_argument(request, *one) for one in self.arguments)]
        if False in conditions:
            return "no"
        return "depends" if None in conditions else "yes"

    def _by_resources(self, request: Request) -> bool | None:
        """Return whether a call touches what the rule names: any of it, or for an allow rule nothing else."""
        if not self.touching:
            return True
        if request.composed:  # each call of its tools has its own decision
            return False
        if self.effect == "allow":
            return touches_only(request, dict(self.touching))
        found = [touches_any(request, access, globs) for access, globs in self.touching]
        return True if True in found else None if None in found else False

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
        # The workflow's own exceptions may have its own names; what loosens names the tool itself.
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
        known = request.capabilities
        if loosens:  # the rule must allow all of the tool's capabilities
            present = {name for name, able in known.items() if able is not False}
            return None not in known.values() and bool(present) and present <= set(self.capabilities)
        able = [known[name] for name in self.capabilities]
        return True if True in able else None if None in able else False
