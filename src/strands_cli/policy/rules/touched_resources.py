"""Compare what a call reads, writes and connects to, as its tool declares it, with the globs of a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from strands_cli.policy.matching.address_globs import connects_only_to, connects_to
from strands_cli.policy.matching.argument_globs import is_doubtful, matches_glob, readings
from strands_cli.policy.matching.file_places import lies_within, reaches
from strands_cli.policy.matching.resource_entries import FilledEntry, fill_entry
from strands_cli.policy.rules.tool_request import Request

Access = Literal["reads", "writes", "connects"]
ACCESSES: tuple[Access, ...] = ("reads", "writes", "connects")
# Kinds of resources that are addresses of the web, whichever access declares them.
_ADDRESSES = frozenset({"url", "host"})


def touches_any(request: Request, access: Access, globs: Sequence[str]) -> bool | None:
    """Return whether a call touches something that a glob matches; None if that depends on arguments not known yet.

    What is not declared may be anything, so it matches.
    """
    entries = _entries(request, access)
    if entries is None:
        return True
    if request.arguments is None:
        return None if entries else False
    filled = [fill_entry(entry, request.arguments) for entry in entries]
    return any(one is None or _meets(one, access, globs, request) for one in filled)


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
    """Return the entries of what a tool reads, writes or connects to; None if it does not say."""
    declared, able = _declared(request), request.capabilities
    if access != "connects":
        found = declared.get(access, None if able["filesystem"] is not False else [])
        return found if found is None else [entry for entry in found if not _is_address(entry)]
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
