"""The door for parts of plugins that a person names, such as a store by its address: asked before any import.

A part has one owner: two distributions that claim a name are refused, and so is another than ours for a name of ours. A
rule of policy that denies its distribution, and the lock of the current directory, hold for it as for a tool.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from strands_cli.catalog.distributions.entry_points import GROUP as TOOLS
from strands_cli.catalog.distributions.entry_points import Scan, normalise, read_entry_points, reference_in
from strands_cli.catalog.distributions.scan import declared_points, installed_twice, scan_installed
from strands_cli.catalog.packaged_files import GROUPS as PACKAGED
from strands_cli.default_parts import (
    COMMANDS,
    CORE,
    DEFAULTS,
    EXPORTERS,
    FILTERS,
    FORMATS,
    HOOKS,
    MOST_CHARACTERS_OF_A_NAME,
    MOVED,
    OPEN_GROUPS,
    OURS,
    OWNERS,
    PART_GROUPS,
    PATTERNS,
    PROVIDERS,
    RESERVED,
    SECRETS,
    STORES,
    install_of,
    is_part_name,
    owner_by_name,
)
from strands_cli.errors import Code, Denied, Finding, NotEquipped, StrandsCliError, Where, suggest
from strands_cli.secrets.secret_sources import SecretFault, SecretReference, read_secret, require_source
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.policy.decision import Policy
    from strands_cli.policy.rule import Request
    from strands_cli.store_place import StorePlace


class Kind(NamedTuple):
    """The noun for a part of a group, and its effect; `{}` is where its name goes."""

    noun: str
    adds: str


KINDS = {
    HOOKS: Kind("the hook plugin `{}`", "adds the hook plugin `{}`"),
    COMMANDS: Kind("the command `{}`", "adds the command `{}`"),
    PATTERNS: Kind("the pattern `{}`", "adds the pattern `{}`"),
    FILTERS: Kind("the template filter `{}`", "adds the template filter `{}`"),
    SECRETS: Kind("the source of secrets `{}`", "reads secrets of the source `{}`"),
    FORMATS: Kind("the format `{}`", "reads workflows of the format `{}`"),
    STORES: Kind("the store of addresses `{}:`", "opens `{}:` stores"),
    OWNERS: Kind("the owner of runs `{}`", "continues the runs that belong to `{}`"),
    PROVIDERS: Kind("the model provider `{}`", "adds the provider `{}`"),
    EXPORTERS: Kind("the exporter `{}`", "writes runs with `--export {}=FILE`"),
}

PART_TAKEN = Code(
    "part-taken",
    "Two distributions claim the same command, store or other part, or one claims a name of strands-cli.",
    "Uninstall one of them.",
    21,
)
PART_DENIED = Code(
    "part-denied",
    "Policy denies the distribution of a named command, store or other part.",
    "Have the rule changed, or name another one.",
    21,
)

PART_BROKEN = Code(
    "part-broken",
    "A command, provider, store or other part of a distribution cannot be imported or used.",
    "Upgrade the distribution.",
    18,
)


class Part(NamedTuple):
    """One entry point of a group: its name, its distribution, and its object reference, not imported."""

    group: str
    name: str
    distribution: str
    value: str

    def __str__(self) -> str:
        return KINDS[self.group].noun.format(typed_name(self.group, self.name))

    @property
    def adds(self) -> str:
        """Its effect, for a person before an installation: "opens `memory:` stores"."""
        return KINDS[self.group].adds.format(typed_name(self.group, self.name))


def typed_name(group: str, name: str) -> str:
    """Return a name as a person types it: a command of a group has a space where its entry point has a dot."""
    first, *more = name.split(".") if group == COMMANDS else [name]
    return " ".join([MOVED.get(first, first), *more]) if more else first


def not_installed(named: str, distribution: str) -> NotEquipped:
    """Return the error for a typed name whose distribution, one of this project, is missing."""
    return NotEquipped(f"`{named}` comes with {distribution}", fix=install_of(distribution))


class NamingFolder(NamedTuple):
    """The folder of a workflow that names a part, and whether the person asks for a lock (`--locked`)."""

    folder: Path
    asks_for_lock: bool = False


def parts_of(group: str, scan: Scan | None = None) -> list[Part]:
    """Return the parts that installed distributions declare in a group; nothing is imported.

    A name that no person could write is left out: `plugin list` and `doctor` report it.
    """
    return [
        Part(group, point.name, distribution, point.value)
        for distribution, point in declared_points(group, scan)
        if is_part_name(group, point.name)
    ]


def names_in(group: str) -> tuple[str, ...]:
    """Return every name of a group: the core's, then those of installed distributions; nothing is imported."""
    own = DEFAULTS.get(group, {})
    return (*own, *sorted({part.name for part in parts_of(group)} - own.keys()))


def owner_of(group: str, name: str) -> str | None:
    """Return the distribution that a name is of: ours, or that of the installed one that claims it; None for none."""
    return owner_by_name(group, name) or next(
        (part.distribution for part in parts_of(group) if part.name == name), None
    )


def owners_of_packages() -> dict[str, str]:
    """Return the import names of packages with parts, each with its distribution."""
    scan = scan_installed()
    parts = [part for group in PART_GROUPS for part in parts_of(group, scan)]
    return {reference_in(part.value)[0].partition(".")[0]: part.distribution for part in parts}


def part_named(group: str, name: str, scan: Scan | None = None) -> Part | None:
    """Return the part of a name, if its owner is certain; None where nothing declares it.

    A name of the core, or of an installed distribution of this project, is theirs, whatever else claims it; one of the
    core that no entry point of it has is None too.

    Args:
        scan: The scan of installed distributions, where there is one.

    Raises:
        Denied: Two distributions claim it, or one other than its owner, which is not installed.
    """
    if name in DEFAULTS.get(group, {}) and name not in OURS.get(group, {}):
        return Part(group, name, CORE, DEFAULTS[group][name])
    if name in RESERVED.get(group, ()):
        return None
    claims = [part for part in parts_of(group, scan) if part.name == name]
    owner = owner_by_name(group, name)
    claims = [part for part in claims if part.distribution == owner] or claims
    fault = _fault(claims)
    if fault is not None:
        raise Denied(fault.message, findings=[fault], fix=fault.fix)
    return claims[0] if claims else None


def contested_parts() -> list[Finding]:
    """Return a finding for each name claimed by two installed distributions, or by another than its owner."""
    claims: dict[tuple[str, str], list[Part]] = {}
    scan = scan_installed()
    for group in PART_GROUPS:
        for part in parts_of(group, scan):
            claims.setdefault((group, part.name), []).append(part)
    return [fault for claim in claims.values() if (fault := _fault(claim)) is not None]


def _fault(claims: list[Part]) -> Finding | None:
    """Return the fault of the claims of one name; one distribution may have it once."""
    owner = owner_by_name(claims[0].group, claims[0].name) if claims else None
    others = [part for part in claims if owner is not None and part.distribution != owner]
    if not others and len(set(claims)) < 2:
        return None
    owners = sorted({part.distribution for part in claims})
    message = f"{' and '.join(owners)} {'claims' if len(owners) == 1 else 'claim'} {claims[0]}"
    if len(owners) == 1 and not others:
        message = f"{message} {len(set(claims))} times"
    if owner is not None and len(others) == len(claims):
        message = f"{message}, which is that of {owner}"
    refused = (others or claims[1:])[0].distribution
    fix = f"uninstall what you do not mean: strands plugin uninstall {refused}"
    if owner is not None and len(others) == len(claims) and owner != CORE:
        fix = f"{install_of(owner)}, which then has the name; or strands plugin uninstall {refused}"
    return Finding(PART_TAKEN, message, None, fix)


def distributions_with_parts(names: Iterable[str], scan: Scan) -> list[str]:
    """Return the installed ones of these distributions with parts of any group, in their normalised names."""
    wanted_names = {normalise(name) for name in names}
    return sorted(wanted_names & {part.distribution for group in PART_GROUPS for part in parts_of(group, scan)})


def parts_in_use(place: StorePlace) -> list[Part]:
    """Return the store that a place of runs would use, and the owners of runs in it; nothing for a directory."""
    if place.directory is not None:
        return []
    named = [part_named(STORES, place.scheme), *(part_named(OWNERS, name) for name in names_in(OWNERS))]
    return [part for part in named if part is not None]


def imported_part(part: Part, policy: Policy | None = None, lock: NamingFolder | None = None) -> Any:
    """Return the object of a part, imported after policy and a lock have been asked.

    Args:
        policy: The policy in force; by default that of this machine and of the current directory.
        lock: The workflow that names it, whose lock is asked; by default that of the current directory.

    Raises:
        Denied: Policy denies its distribution, or it is not as it was locked.
        NotEquipped: It cannot be imported.
    """
    from strands_cli.catalog.distributions.scan import import_named

    require_admitted(part, policy, lock)
    try:
        return import_named(part.value)
    except (StrandsCliError, KeyboardInterrupt):
        raise
    except BaseException as error:  # an import may raise anything, SystemExit too
        raise broken_part(part, f"cannot be imported: {type(error).__name__}: {error}") from error


def imported_with_methods(part: Part, form: type) -> Any:
    """Return the object of a part, imported; it must have the methods of a protocol.

    Raises:
        Denied: As `imported_part`.
        NotEquipped: It cannot be imported, or lacks a method.
    """
    named = imported_part(part)
    lacks = [name for name in vars(form) if not name.startswith("_") and not callable(getattr(named, name, None))]
    if lacks:
        raise broken_part(part, f"is {type(named).__name__}, which lacks {', '.join(f'`{name}`' for name in lacks)}")
    return named


def broken_part(part: Part, problem: str) -> NotEquipped:
    """Return the error of a part that cannot be used; `problem` follows its name: "is a list, not a function"."""
    from strands_cli.catalog.distributions.dist_info import unmet_by

    fault = unmet_by(part.distribution, scan_installed())
    message = printable(
        f"{part} of {part.distribution} ({part.value}) {problem}{f'; {fault.message}' if fault else ''}"
    )
    fix = f"{fault.fix if fault else f'pip install --upgrade {part.distribution}'}, or name another one"
    return NotEquipped(message, findings=[Finding(PART_BROKEN, message, None, fix)], fix=fix)


def require_admitted(part: Part, policy: Policy | None = None, lock: NamingFolder | None = None) -> None:
    """Check that a part may be imported, without importing it; the arguments are those of `imported_part`.

    Raises:
        Denied: Policy denies its distribution, or it is not as it was locked.
    """
    from strands_cli.config import settings_without_store
    from strands_cli.user_files.policy_files import read_policies

    if part.distribution == CORE:
        return
    in_force = read_policies(settings_without_store(), Path.cwd()) if policy is None else policy
    _require_allowed(part, in_force)
    _require_locked(part, in_force, lock)


def _require_allowed(part: Part, policy: Policy) -> None:
    """Ask the rules that name distributions: other rules are about tools and their calls."""
    rules = [rule for rule in policy.rules if rule.effect == "deny" and rule.distribution]
    request = _request_of(part) if rules else None
    for rule in rules:
        if request is not None and rule.matches(request):
            message = f"{part} is of {part.distribution}, which is denied: {rule.words}"
            fix = "have the rule changed, or name another one"
            raise Denied(message, findings=[Finding(PART_DENIED, message, None, fix)], fix=fix)


def _request_of(part: Part) -> Request:
    from strands_cli.catalog.publisher_records import publisher_of, sources_of
    from strands_cli.policy.rule import Request

    scan = scan_installed()
    publisher = publisher_of(part.distribution, scan)
    return Request(
        (f"{part.group}:{part.name}", part.name),
        distribution=part.distribution,
        version=scan.version(part.distribution),
        sources=sources_of(part.distribution, scan),
        publisher=publisher.word if publisher is not None else None,
    )


def _require_locked(part: Part, policy: Policy, lock: NamingFolder | None) -> None:
    from strands_cli.parts.plugin_lock import check_locked

    required_by = policy.lock_required_by(is_asked=lock is not None and lock.asks_for_lock)
    folder = lock.folder if lock is not None else Path.cwd()
    named = str(part) if lock is not None else None
    faults = check_locked([part.distribution], folder, required_by, is_planned=False, named=named)
    if faults:
        raise Denied(f"{part} is of {part.distribution}, which is not as it was locked", findings=faults)


# Faults of the entry points of a distribution for our groups, as far as its metadata shows them.


UNKNOWN_GROUP = Code(
    "unknown-group",
    "A distribution declares entry points in a group that begins as ours do, and that nothing reads.",
    "Correct the group.",
)
BAD_PART_NAME = Code(
    "bad-part-name",
    "A command, a filter, a store or another part has a name that a person could not write.",
    "Rename the entry point.",
)

_KNOWN = (TOOLS, HOOKS, *PART_GROUPS, *PACKAGED)
_OUR_PREFIX = "strands_cli."
_MOST_SHOWN = 80


class DeclaredEntryPoint(NamedTuple):
    """One entry point as a distribution declares it, in whatever group."""

    group: str
    name: str
    value: str


def faulty_parts() -> list[Finding]:
    """Return the faults of the parts of installed distributions: contested names, and unusable parts."""
    scan = scan_installed()
    return [*contested_parts(), *(fault for name in scan.records for fault in _installed_faults(name, scan))]


def _installed_faults(name: str, scan: Scan) -> Iterator[Finding]:
    directory, record = scan.records[name][0]
    declared = declared_by(record, name, scan)
    seconds = [other for directory_of_other, other in scan.records[name][1:] if directory_of_other == directory]
    has_tools = any(point.group == TOOLS for point in declared)  # reported with the tools
    if seconds and not has_tools and any(point.group in (HOOKS, *PART_GROUPS) for point in declared):
        yield replace(installed_twice(name, record, seconds[0]), severity="warning")
    for fault in declared_faults(name, declared, Where(f"{record}{os.sep}entry_points.txt")):
        if fault.code != PART_TAKEN:  # a contested one
            yield replace(fault, severity="warning", fix=f"report it to the authors of {name}: {fault.fix}")


def declared_by(record: str, name: str, scan: Scan) -> list[DeclaredEntryPoint]:
    """Return the entry points of an installed distribution in every group."""
    read_entry_points(record, name, scan, COMMANDS)  # reads its file, once for all groups
    return declared_in(scan.texts.get(record, b""))


def declared_in(text: bytes) -> list[DeclaredEntryPoint]:
    """Return the entry points of an `entry_points.txt` in every group; lines without a group or a `=` are left out."""
    group, declared = "", []
    for written in text.decode("utf-8", "replace").splitlines():
        line = written.strip()
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif group and "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            declared.append(DeclaredEntryPoint(group, name.strip(), value.strip()))
    return declared


def declared_faults(distribution: str, declared: Iterable[DeclaredEntryPoint], where: Where) -> Iterator[Finding]:
    """Yield the groups of a distribution that nothing reads, names that none could write, and names that it has twice.

    Args:
        where: The file that declares them.
    """
    points = list(dict.fromkeys(declared))
    for group in dict.fromkeys(point.group for point in points):
        if is_meant_as_ours(group) and group not in _KNOWN:
            message = (
                f"'{distribution}' declares entry points in the group {group[:_MOST_SHOWN]!r}, which nothing reads"
            )
            yield Finding(UNKNOWN_GROUP, message, where, suggest(group, _KNOWN, f"one of {', '.join(_KNOWN)}"))
    parts = [point for point in points if point.group in PART_GROUPS]
    for part in parts:
        if not is_part_name(part.group, part.name):
            message = f"'{distribution}' has {_shown(part)}, which is not a name for one"
            fix = f"rename it: at most {MOST_CHARACTERS_OF_A_NAME} characters, {_FORMS.get(part.group, _WORD)}"
            yield Finding(BAD_PART_NAME, message, where, fix)
    for (group, name), count in Counter((part.group, part.name) for part in parts).items():
        if count > 1:
            message = f"'{distribution}' claims {_shown(DeclaredEntryPoint(group, name, ''))} {count} times"
            yield Finding(PART_TAKEN, message, where, "rename all but one of them, or report it to its author")


_SCHEME = "lower-case letters, digits, `+`, `-` and `.`, a letter first"
_WORD = "letters, digits, `-`, `_` and `.`"
_FORMS = {
    COMMANDS: "lower-case words of letters and digits, joined by `-` or `_`, a letter first; for a command of a group "
    f"({', '.join(OPEN_GROUPS)}) after the group's name and a dot",
    FILTERS: "letters, digits and `_`, no digit first",
    STORES: _SCHEME,
}


def is_meant_as_ours(group: str) -> bool:
    """Return whether the name of a group begins as ours do, or almost does."""
    plain = "".join(group.split()).lower()
    return plain.replace("-", "_").startswith(_OUR_PREFIX)


def _shown(part: DeclaredEntryPoint) -> str:
    named = typed_name(part.group, part.name)
    name = named if len(named) <= _MOST_SHOWN else f"{named[:_MOST_SHOWN]}..."
    return KINDS[part.group].noun.format(name)


# Secrets of every source: those of the core, and those that installed distributions bring.


def require_any_source(secret: SecretReference, environ: Mapping[str, str], lock: NamingFolder | None = None) -> None:
    """Check that a secret's source exists, without running a program, opening a file or importing a plugin.

    Args:
        lock: The workflow that names it; by default the lock of the current directory is asked.

    Raises:
        SecretFault: The source does not exist.
        Denied: It is of a distribution that may not be imported.
    """
    if secret.source in DEFAULTS[SECRETS]:
        require_source(secret, environ)
    else:
        require_admitted(_part_of(secret), lock=lock)


def read_any_secret(
    secret: SecretReference,
    environ: Mapping[str, str],
    remote: Callable[[SecretReference], str] | None = None,
    lock: NamingFolder | None = None,
) -> str:
    """Return a secret's value.

    Args:
        remote: Reads those that a cloud service keeps.
        lock: The workflow that names it; by default the lock of the current directory is asked.

    Raises:
        SecretFault: The secret has no value; the message has no part of one.
        Denied: Its source is of a distribution that may not be imported.
        NotEquipped: Its source cannot be imported.
    """
    if secret.source in DEFAULTS[SECRETS]:
        return read_secret(secret, environ, remote)
    part = _part_of(secret)
    fix = f"ask the authors of {part.distribution}, or choose another `source`"
    read = imported_part(part, lock=lock)
    try:
        value = read(secret)
    except (StrandsCliError, SecretFault):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise anything, with the value in its message
        message = f"the secret '{secret.name}' cannot be read: {part} of {part.distribution} raised "
        raise SecretFault(f"{message}{type(error).__name__}", fix) from None
    if not isinstance(value, str) or not value:
        problem = "is empty" if value == "" else f"is {type(value).__name__}, not a text"
        raise SecretFault(f"the secret '{secret.name}' of {part.distribution} {problem}", fix)
    return value


def _part_of(secret: SecretReference) -> Part:
    part = part_named(SECRETS, secret.source)
    if part is None:
        message = f"the secret '{secret.name}' has the source '{secret.source}', which is not installed"
        raise SecretFault(message, f"one of {', '.join(names_in(SECRETS))}")
    return part
