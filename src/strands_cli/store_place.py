"""Where runs are stored: a directory with a folder for each run, or the address of a store that a plugin opens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

# The expressions are compiled when an address is met: most runs are stored in a directory. A scheme as RFC 3986
# (section 3.1) has it, and the rest of the address.
_ADDRESS = r"(?s)([A-Za-z][A-Za-z0-9+.-]+)://(.*)"
# The user and the password in front of a host; an unencoded one may contain every character.
_PASSWORD = r"(?s)(?P<user>[^:@/?#]*):(?P<password>\{[^{}]*\}|.*)@"  # noqa: S105 - an expression
_IN_QUERY = r"(?i)(?<=[?&])(?P<name>(?:ssl)?password=)(?P<password>\{[^{}]*\}|[^&#]*)"
# The sources of the program that an address can refer to, each with the field of a secret that its name is: `key` or
# `path`. A source of a distribution has both: `{NAME:PATH#KEY}`.
SOURCES = {"env": "key", "file": "path", "keyring": "key", "command": "path"}
# A reference to a secret in an address: `{env:NAME}`, `{file:PATH}`, `{keyring:NAME}`, `{command:PROGRAM}`.
_REFERENCE = r"\{([A-Za-z_][A-Za-z0-9_.-]*):([^{}]+)\}"
# Braces are no characters of an address (RFC 3986, section 2), so that every other text in them is a mistake.
_BRACES = r"\{[^{}]*\}?"


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Where runs are stored; exactly one of `directory` and `address` is set.

    Attributes:
        directory: An absolute path.
        address: As it was given, so that it may contain a password; `str()` of the place does not.
        sources: The sources of secrets of distributions that the address refers to. Braces with any other word before
            a colon may be a password, and are not shown.
    """

    directory: Path | None = None
    address: str = field(default="", repr=False)
    sources: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        """Return the place for a person: a path, or the address without its password."""
        return str(self.directory) if self.directory is not None else without_password(self.address, self.sources)

    @property
    def scheme(self) -> str:
        """The scheme of the address in lower case: the name of the entry point that opens it; empty for a directory."""
        match = re.match(_ADDRESS, self.address)
        return match[1].lower() if match else ""

    def record(self, run_id: str) -> str:
        """Return where the journal of a run is, for a person."""
        return str(self.directory / run_id) if self.directory is not None else f"{run_id} in {self}"

    @property
    def words(self) -> tuple[str, str]:
        """The option that names the place on a command line; an address comes without its password."""
        return ("--runs-dir", str(self.directory)) if self.directory is not None else ("--store", str(self))


def is_address(text: str) -> bool:
    """Return whether a text is an address (`postgresql://...`) and not a path."""
    return re.fullmatch(_ADDRESS, text) is not None


def without_password(address: str, sources: tuple[str, ...] = ()) -> str:
    """Return an address without passwords; references to secrets stay, since they contain no value.

    Args:
        sources: The sources that a reference may have beside those of the program.
    """

    def refers(text: str) -> bool:
        match = re.fullmatch(_REFERENCE, text)
        return match is not None and match[1] in (*SOURCES, *sources)

    scheme, _, rest = address.partition("://")
    match = re.match(_PASSWORD, rest)
    if match and not refers(match["password"]):
        rest = f"{match['user']}@{rest[match.end() :]}"
    rest = re.sub(
        _IN_QUERY, lambda parameter: parameter[0] if refers(parameter["password"]) else f"{parameter['name']}...", rest
    )
    return f"{scheme}://{rest}"


def other_sources(address: str) -> tuple[str, ...]:
    """Return the words of an address that name sources of distributions, if they are sources at all."""
    return tuple(sorted({match[1] for match in re.finditer(_REFERENCE, address)} - set(SOURCES)))


def secret_reference(address: str) -> tuple[str, str, str] | None:
    """Return the first reference to a secret in an address: its text, its source and its name; None without one."""
    match = re.search(_REFERENCE, address)
    return (match[0], match[1], match[2]) if match else None


def has_wrong_reference(address: str) -> bool:
    """Return whether braces of an address have anything else than a reference to a secret."""
    return any(re.fullmatch(_REFERENCE, match[0]) is None for match in re.finditer(_BRACES, address))
