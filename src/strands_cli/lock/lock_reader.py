"""Read a lock file into values, or raise with the reason; while a lock cannot be read, nothing runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from strands_cli.catalog.distributions.entry_points import read_start
from strands_cli.errors import Code, Denied, Finding, Where
from strands_cli.publishers import Publisher, publisher_from
from strands_cli.texts.canonical_json import digest_of

# The values of a lock: distributions with the digests of their files and the definitions of their tools.


FILE_NAME = "strands.lock"
VERSION = 1
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def lock_file(folder: Path) -> Path:
    """Return the path of the lock for the workflows of a folder."""
    return folder / FILE_NAME


# Named tuples: defining five dataclasses takes two milliseconds in each command that reads a lock.


class LockedTool(NamedTuple):
    """A tool's definition: the fields that a model and the permission check see, and their digest.

    `after_load` says that loading the plugin may show more fields; the lock then pins only the tool's files.
    """

    name: str
    fields: Mapping[str, Any]
    definition: str
    after_load: bool = False

    @classmethod
    def of(cls, name: str, fields: Mapping[str, Any], *, after_load: bool = False) -> LockedTool:
        """Return a tool with the digest of its fields."""
        return cls(name, fields, f"sha256:{digest_of(fields)}", after_load)


class LockedDocument(NamedTuple):
    """The content of a package's YAML or JSON file, without long or secret texts, and the digest of that.

    `file` is its path as in the distribution's files. Only the file's own digest says whether it has changed; the
    fields are there to show how.
    """

    file: str
    fields: Mapping[str, Any]
    definition: str

    @classmethod
    def of(cls, file: str, fields: Mapping[str, Any]) -> LockedDocument:
        """Return a document with the digest of its fields."""
        return cls(file, fields, f"sha256:{digest_of(fields)}")


class LockedDistribution(NamedTuple):
    """An installed distribution: its version, the digests of its files by path, and its tools by name.

    `requires` has the pins of the distributions that it requires, by name: version and digest of RECORD.
    `publisher` is who published it, if that was verified.
    `documents` are the files of its workflows and agents, by path, where workflows use them.
    """

    name: str
    version: str | None
    files: Mapping[str, str]
    tools: Mapping[str, LockedTool] = _NOTHING
    editable: bool = False
    requires: Mapping[str, str] = _NOTHING
    publisher: Publisher | None = None
    documents: Mapping[str, LockedDocument] = _NOTHING


class LockedModule(NamedTuple):
    """Custom Python that a workflow names: its reference, and the digests of its file and its parent packages."""

    reference: str
    files: Mapping[str, str]


class LockedServer(NamedTuple):
    """An MCP server: its name (`mcp:ID`), how it is reached, as the workflow writes it, and its tools by name."""

    name: str
    reached_by: str
    tools: Mapping[str, LockedTool] = _NOTHING


class LockedWorkflow(NamedTuple):
    """A workflow: its file's name, and the digest of all that it uses of the machine and of addresses."""

    name: str
    authority: str


class Lock(NamedTuple):
    """The content of a lock file, by name and by reference."""

    distributions: Mapping[str, LockedDistribution] = _NOTHING
    modules: Mapping[str, LockedModule] = _NOTHING
    servers: Mapping[str, LockedServer] = _NOTHING
    workflows: Mapping[str, LockedWorkflow] = _NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        """The names that `strands lock --update` takes."""
        return (*self.distributions, *self.modules, *self.servers, *self.workflows)

    @property
    def packaged(self) -> tuple[str, ...]:
        """The packaged workflows that run in its folder, as `DIST/NAME`; others have the names of files."""
        return tuple(name for name in self.workflows if "/" in name)

    def owners_of(self, tool: str) -> list[str]:
        """Return the distributions with a tool of this name."""
        return [name for name, distribution in self.distributions.items() if tool in distribution.tools]


LOCK_BROKEN = Code(
    "lock-broken",
    "A strands.lock cannot be read, or was changed by hand; nothing runs.",
    "Restore it from version control, or write a new one: strands lock",
    21,
)

MAX_BYTES = 10 * 1024 * 1024
# A key of very many parts, which tomllib reads in a time that grows with their square.
_MANY_PARTS = re.compile(rb"""(?<![\w.'"-])(?:(?:[\w-]++|"[^"\n]{0,100}+"|'[^'\n]{0,100}+')[ \t]*+\.[ \t]*+){200}""")
_DIGEST_LENGTH = len("sha256:") + 64
RESTORE = "restore it from version control, or read what is installed and write a new lock: strands lock"


class _Fault(Exception):
    """Why a lock cannot be used; `read_lock` adds the file."""


def read_lock(file: Path) -> Lock | None:
    """Read a lock; None if the file does not exist.

    Raises:
        Denied: The file cannot be read, or has not the form of `strands lock` (finding `lock-broken`).
    """
    try:
        raw = read_start(str(file), MAX_BYTES + 1)
    except FileNotFoundError:
        if file.is_symlink():  # a broken link shows that a lock was meant to be here
            raise _broken(file, "it is a link to a file that is not there") from None
        return None
    except OSError as error:
        raise _broken(file, f"it cannot be read: {error.strerror}") from error
    try:
        return parse_lock(raw)
    except _Fault as fault:
        raise _broken(file, str(fault), _line_of_marker(raw)) from None


def parse_lock(raw: bytes) -> Lock:
    """Read the bytes of a lock."""
    import tomllib  # 4 ms that only a folder with a lock pays

    if len(raw) > MAX_BYTES:
        raise _Fault("it is larger than 10 MB")
    if _MANY_PARTS.search(raw):
        raise _Fault("a key has more than 200 parts")
    if _line_of_marker(raw):
        raise _Fault("it has the markers of a merge conflict")
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _Fault(f"it is not TOML: {error}") from None
    if document.get("version") != VERSION or isinstance(document["version"], bool):
        written = document.get("version", "none")
        raise _Fault(f"its version is {written!r}, this strands-cli reads version {VERSION}")
    _require_keys(document, {"version"}, {"distribution", "module", "server", "workflow"}, "the file")
    return Lock(
        _each(document, "distribution", _distribution, "name"),
        _each(document, "module", _module, "reference"),
        _each(document, "server", _server, "name"),
        _each(document, "workflow", _workflow, "name"),
    )


def _each(document: Mapping[str, Any], key: str, read: Callable[[Mapping[str, Any]], Any], name: str) -> dict[str, Any]:
    parts = document.get(key, [])
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise _Fault(f"`{key}` is not written as [[{key}]]")
    entries: dict[str, Any] = {}
    for part in parts:
        entry = read(part)
        if getattr(entry, name) in entries:
            raise _Fault(f"[[{key}]] has {getattr(entry, name)!r} twice")
        entries[getattr(entry, name)] = entry
    return entries


def _distribution(part: Mapping[str, Any]) -> LockedDistribution:
    owner = f"[[distribution]] {part.get('name', '?')!r}"
    _require_keys(part, {"name", "files"}, {"version", "editable", "requires", "publisher", "tool", "document"}, owner)
    return LockedDistribution(
        _text(part, "name", owner),
        _text(part, "version", owner) if "version" in part else None,
        _files(part["files"], owner),
        _each(part, "tool", _tool, "name"),
        _flag(part, "editable", owner),
        _pins(part.get("requires", {}), owner),
        _publisher(part["publisher"], owner) if "publisher" in part else None,
        _each(part, "document", _document, "file"),
    )


def _tool(part: Mapping[str, Any]) -> LockedTool:
    owner = f"the tool {part.get('name', '?')!r}"
    _require_keys(part, {"name", "definition", "fields"}, {"known_after_load"}, owner)
    fields = _fields(part, owner)
    tool = LockedTool.of(_text(part, "name", owner), fields, after_load=_flag(part, "known_after_load", owner))
    _require_definition(part, tool.definition, owner)
    return tool


def _document(part: Mapping[str, Any]) -> LockedDocument:
    owner = f"the file {part.get('file', '?')!r}"
    _require_keys(part, {"file", "definition", "fields"}, set(), owner)
    document = LockedDocument.of(_text(part, "file", owner), _fields(part, owner))
    _require_definition(part, document.definition, owner)
    return document


def _fields(part: Mapping[str, Any], owner: str) -> dict[str, Any]:
    try:
        fields = json.loads(_text(part, "fields", owner))
    except (ValueError, RecursionError) as error:
        raise _Fault(f"the fields of {owner} are not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise _Fault(f"the fields of {owner} are not a JSON object")
    return fields


def _require_definition(part: Mapping[str, Any], definition: str, owner: str) -> None:
    if definition != part["definition"]:
        raise _Fault(f"somebody has changed it by hand: the fields of {owner} do not have the digest beside them")


def _module(part: Mapping[str, Any]) -> LockedModule:
    owner = f"[[module]] {part.get('reference', '?')!r}"
    _require_keys(part, {"reference", "files"}, set(), owner)
    return LockedModule(_text(part, "reference", owner), _files(part["files"], owner))


def _server(part: Mapping[str, Any]) -> LockedServer:
    owner = f"[[server]] {part.get('name', '?')!r}"
    _require_keys(part, {"name", "reached_by"}, {"tool"}, owner)
    tools = _each(part, "tool", _tool, "name")
    return LockedServer(_text(part, "name", owner), _text(part, "reached_by", owner), tools)


def _workflow(part: Mapping[str, Any]) -> LockedWorkflow:
    owner = f"[[workflow]] {part.get('name', '?')!r}"
    _require_keys(part, {"name", "authority"}, set(), owner)
    return LockedWorkflow(_text(part, "name", owner), _text(part, "authority", owner))


def _files(value: Any, owner: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _Fault(f"the files of {owner} are not a table")
    for path, digest in value.items():
        if not isinstance(digest, str) or not digest.startswith("sha256:") or len(digest) != _DIGEST_LENGTH:
            raise _Fault(f"the file {path!r} of {owner} has no SHA-256 digest")
    return value


def _pins(value: Any, owner: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(pin, str) and pin for pin in value.values()):
        raise _Fault(f"`requires` of {owner} is not a table of versions")
    return value


def _publisher(value: Any, owner: str) -> Publisher:
    try:
        return publisher_from(value)
    except ValueError as error:
        raise _Fault(f"`publisher` of {owner}: {error}") from None


def _require_keys(part: Mapping[str, Any], needed: Iterable[str], optional: Iterable[str], owner: str) -> None:
    needed = set(needed)
    if missing := sorted(needed - part.keys()):
        raise _Fault(f"{owner} has no `{missing[0]}`")
    if unknown := sorted(part.keys() - needed - set(optional)):
        raise _Fault(f"{owner} has the unknown key `{unknown[0]}`; a later version of strands-cli may have made it")


def _text(part: Mapping[str, Any], key: str, owner: str) -> str:
    if not isinstance(part[key], str) or not part[key]:
        raise _Fault(f"`{key}` of {owner} is not a text")
    return str(part[key])


def _flag(part: Mapping[str, Any], key: str, owner: str) -> bool:
    if not isinstance(part.get(key, False), bool):
        raise _Fault(f"`{key}` of {owner} is neither true nor false")
    return bool(part.get(key))


def _line_of_marker(raw: bytes) -> int | None:
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.startswith((b"<<<<<<<", b">>>>>>>")):
            return number
    return None


def _broken(file: Path, reason: str, line: int | None = None) -> Denied:
    message = f"{FILE_NAME} cannot be used: {reason}"
    return Denied(message, findings=[Finding(LOCK_BROKEN, message, Where(str(file), line), RESTORE)])
