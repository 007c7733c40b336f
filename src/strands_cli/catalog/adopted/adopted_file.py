"""Read and write `strands-adopted.json`: the tools that a person adopted from distributions that declare none."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.distributions.entry_points import (
    Package,
    Scan,
    find_package,
    module_file,
    normalise,
    read_start,
)
from strands_cli.catalog.installed_files import digest_of_file
from strands_cli.catalog.manifest import (
    TOOL_NAME,
    Check,
    UnreadableError,
    check_tool,
    read_document,
    type_of,
)
from strands_cli.config import ADOPTED_FILE, read_settings
from strands_cli.errors import Code, Finding, Where
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.catalog.source.source_tool import SourceTool


# The files that define adopted tools, and their digests.


def digests_of(modules: Iterable[str], distribution: str, scan: Scan, files: Iterable[str] = ()) -> dict[str, str]:
    """Return the `files` of an adopted distribution: those of its modules, and each `__init__` that runs before.

    Args:
        modules: The modules that adopted tools name.
        distribution: The normalised name of the installed distribution.
        scan: The scan that found it.
        files: Further files of the same packages: those in which `modules` only import a tool from.
    """
    home = home_of(distribution, scan)
    digests: dict[str, str] = {}
    for module in modules:
        package = find_package(module.partition(".")[0], scan.listings, home)
        if package is None:
            continue
        root = root_of(package)
        paths = [*_on_the_way(package, module), *(file for file in files if file.startswith(root + os.sep))]
        for path in paths:
            if (digest := digest_of_file(path)) is not None:
                digests[os.path.relpath(path, root).replace(os.sep, "/")] = digest
    return dict(sorted(digests.items()))


def home_of(distribution: str, scan: Scan) -> str:
    """Return the directory of `sys.path` that contains an installed distribution; "" where it is not installed."""
    copies = scan.records.get(distribution)
    return copies[0][0] if copies else ""


def root_of(package: Package) -> str:
    """Return the folder below which `files` have their paths: the one that contains the top-level package."""
    return os.path.dirname(package.directory or package.file or "")


def _on_the_way(package: Package, module: str) -> Iterator[str]:
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        if file := module_file(package, ".".join(parts[:depth])):
            yield file


def changed_files(files: Mapping[str, str], roots: Mapping[str, str]) -> list[str]:
    """Return the paths whose files differ from their digests, or are missing, in order.

    Args:
        files: As in the file.
        roots: Name of a top-level package or module -> the folder that contains it.
    """
    changed = []
    for path, digest in files.items():
        top = path.partition("/")[0]
        root = roots.get(top) or roots.get(top.partition(".")[0])
        if root is None or digest_of_file(os.path.join(root, *path.split("/"))) != digest:
            changed.append(path)
    return changed


BAD_ADOPTED_FILE = Code(
    "bad-adopted-file",
    "A part of a strands-adopted.json cannot be read or breaks its rules; the others are still used.",
    "Write it again: strands plugin adopt DIST",
)
ADOPTED_FIELD = Code("adopted-field", "A strands-adopted.json has an unknown field.", "Correct or remove the field.")
ADOPTED_VERSION = Code(
    "adopted-version", "A strands-adopted.json is written for a later version of strands-cli.", "Upgrade strands-cli."
)


FORMAT = 1
MAX_BYTES = 16 * 1024 * 1024
MAX_TOOLS, MAX_FILES = 5_000, 5_000
MAX_TEXT = 512

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_ENTRY = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")
_TOP = {"version": int, "distributions": dict}
_DISTRIBUTION: dict[str, type | tuple[type, ...]] = {
    "version": (str, type(None)),
    "adopted": str,
    "imported": bool,
    "files": dict,
    "tools": dict,
}
_TOOL = {"entry": str, "called": str, "definition": dict}
_NEEDED = ("version", "adopted", "files", "tools")


@dataclass(frozen=True, slots=True)
class AdoptedTool:
    """One adopted tool.

    Attributes:
        name: Its name in workflows.
        entry: Its object reference, `module` or `module:attribute`.
        called: The name in its own specification, which differs from `name` for an alias.
        definition: A tool's object as in a manifest, without `name` and `entry`; `kind` is always there. A class has
            its tools under `members`: name -> definition.
    """

    name: str
    entry: str
    called: str
    definition: Mapping[str, Any]

    @property
    def module(self) -> str:
        """The module of `entry`."""
        return self.entry.partition(":")[0]


@dataclass(frozen=True, slots=True)
class AdoptedDistribution:
    """The adopted tools of one distribution, and its state at that time.

    Attributes:
        name: Its normalised name.
        version: The installed version then; None if its record stated none.
        adopted: The day, `2026-11-23`.
        imported: Whether the definitions come from importing it; else its source was read.
        files: Path below the directory of `sys.path` -> `sha256:HEX`, for each module that defines a tool and each
            `__init__` that is imported on the way to it.
        tools: Name in workflows -> tool.
    """

    name: str
    version: str | None
    adopted: str
    imported: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, AdoptedTool] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the file under the distribution's name."""
        tools = {
            name: {"entry": tool.entry, "called": tool.called, "definition": dict(tool.definition)}
            for name, tool in self.tools.items()
        }
        return {
            "version": self.version,
            "adopted": self.adopted,
            "imported": self.imported,
            "files": dict(self.files),
            "tools": tools,
        }


@dataclass(frozen=True, slots=True)
class AdoptedFile:
    """The content of a `strands-adopted.json`: distributions by their normalised names."""

    distributions: Mapping[str, AdoptedDistribution] = field(default_factory=dict)

    @staticmethod
    def path(folder: Path | None = None) -> Path | None:
        """Return the path of a folder's file, or of the user's, beside the policy; None without a home directory."""
        if folder is not None:
            return folder / ADOPTED_FILE
        user_config = read_settings().user_config
        return user_config.with_name(ADOPTED_FILE) if user_config else None

    @classmethod
    def read(cls, path: Path | str) -> tuple[AdoptedFile, list[Finding]]:
        """Read an adoption file; faulty parts are left out, with a finding.

        Returns: The content of the file, empty where there is no file, and its faults.
        """
        name = os.fspath(path)
        try:
            raw = read_start(name, MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError) as error:
            if not Path(name).is_symlink():
                return cls(), []
            message = f"the adoption file is a link to nothing ({error.strerror})"
            return cls(), [Finding(BAD_ADOPTED_FILE, message, Where(name))]
        except OSError as error:
            message = f"the adoption file cannot be read ({error.strerror})"
            return cls(), [Finding(BAD_ADOPTED_FILE, message, Where(name))]
        return parse_adopted(raw, name)

    def with_tools(
        self,
        distribution: str,
        tools: Mapping[str, SourceTool],
        kept_names: Collection[str] = (),
        *,
        imported: bool = False,
    ) -> AdoptedFile:
        """Return the file with the tools of an installed distribution, and the digests of the modules that define them.

        Args:
            distribution: Its normalised name.
            tools: Name in workflows -> tool.
            kept_names: The names of those that the file has of it, and that stay.
            imported: Whether a definition comes from importing it.
        """
        import datetime  # listings only read

        from strands_cli.catalog.distributions.scan import scan_installed

        before = self.distributions.get(distribution)
        whole = {name: tool for name, tool in before.tools.items() if name in kept_names} if before else {}
        whole |= {name: AdoptedTool(name, tool.entry, tool.called, tool.definition) for name, tool in tools.items()}
        scan = scan_installed()
        files = digests_of([tool.module for tool in whole.values()], distribution, scan)
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        new_distribution = AdoptedDistribution(distribution, scan.version(distribution), today, imported, files, whole)
        return AdoptedFile({**self.distributions, distribution: new_distribution})

    def as_dict(self) -> dict[str, Any]:
        """Return the document that `write` writes."""
        distributions = {name: distribution.as_dict() for name, distribution in self.distributions.items()}
        return {"version": FORMAT, "distributions": distributions}

    def write(self, path: Path) -> None:
        """Write the file in place of the present one: sorted keys, so that equal content has equal bytes.

        Raises:
            OSError: It cannot be written.
        """
        from strands_cli.system.atomic_file import write_atomically  # slow to import, and listings only read

        text = json.dumps(self.as_dict(), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        # A link stays a link, as people keep their settings elsewhere.
        write_atomically(path.resolve(), f"{text}\n".encode(), force=True, mode=0o644)


def parse_adopted(raw: bytes, name: str) -> tuple[AdoptedFile, list[Finding]]:
    """Read the bytes of an adoption file; `name` is the file's, for findings."""
    remove = "correct it, or remove the file and adopt again"
    try:
        document = read_document(raw, MAX_BYTES, unique=True)
    except UnreadableError as error:
        return AdoptedFile(), [
            Finding(BAD_ADOPTED_FILE, f"the adoption file {error}", Where(name, error.line, error.column), remove)
        ]
    check = _check(name)
    if not isinstance(document, dict):
        check.fault("", f"the adoption file must be an object, not {type_of(document)}", fix=remove)
        return AdoptedFile(), check.findings
    version = document.get("version")
    if isinstance(version, int) and version > FORMAT:
        message = f"the adoption file has version {version}; this strands-cli reads version {FORMAT}"
        return AdoptedFile(), [Finding(ADOPTED_VERSION, message, Where(name, pointer="/version"))]
    check.fields(document, _TOP, "")
    if version != FORMAT or isinstance(version, bool):
        check.fault("/version", f"version must be {FORMAT}", fix=remove)
    distributions = document.get("distributions")
    if check.failed or not isinstance(distributions, dict):
        return AdoptedFile(), check.findings or _missing(name, remove)
    parsed: dict[str, AdoptedDistribution] = {}
    for key, value in distributions.items():
        its = _check(name)
        distribution = _distribution(key, value, its)
        check.findings += its.findings
        if distribution is not None and not its.failed:
            parsed[key] = distribution
    if sum(len(distribution.tools) for distribution in parsed.values()) > MAX_TOOLS:
        check.fault("/distributions", f"the adoption file has more than {MAX_TOOLS:,} tools", fix=remove)
        return AdoptedFile(), check.findings
    return AdoptedFile(parsed), check.findings


def _missing(name: str, fix: str) -> list[Finding]:
    return [Finding(BAD_ADOPTED_FILE, "the adoption file has no 'distributions'", Where(name), fix)]


def _check(name: str) -> Check:
    return Check(name, BAD_ADOPTED_FILE, ADOPTED_FIELD, "the adoption file")


def _distribution(name: str, value: Any, check: Check) -> AdoptedDistribution | None:
    pointer = f"/distributions/{_escaped(name)}"
    if normalise(name) != name or not _plain(name):
        check.fault(pointer, f"{name[:80]!r} is not a normalised name of a distribution")
        return None
    if not _shaped(value, _DISTRIBUTION, _NEEDED, pointer, check):
        return None
    if not _DATE.fullmatch(value["adopted"]):
        check.fault(f"{pointer}/adopted", "adopted must be a day such as 2026-11-23")
    if value["version"] is not None and not _plain(value["version"]):
        check.fault(f"{pointer}/version", "version must be one short line")
    _check_files(value["files"], f"{pointer}/files", check)
    tools = {
        key: tool
        for key, tool_value in value["tools"].items()
        if (tool := _tool(key, tool_value, f"{pointer}/tools/{_escaped(key)}", check)) is not None
    }
    imported = value.get("imported", False)
    return AdoptedDistribution(name, value["version"], value["adopted"], imported, value["files"], tools)


def _shaped(value: Any, kinds: Mapping[str, Any], needed: tuple[str, ...], pointer: str, check: Check) -> bool:
    """Return whether a value is an object with the fields that it needs, each of its type."""
    if not isinstance(value, dict):
        check.fault(pointer, f"it must be an object, not {type_of(value)}")
        return False
    before = len(check.findings)
    check.fields(value, kinds, pointer)
    for key in needed:
        if key not in value:
            check.fault(pointer, f"it has no {key!r}")
    return all(finding.severity != "error" for finding in check.findings[before:])


def _check_files(files: Mapping[str, Any], pointer: str, check: Check) -> None:
    if len(files) > MAX_FILES:
        check.fault(pointer, f"the distribution has more than {MAX_FILES:,} files")
        return
    for path, digest in files.items():
        where = f"{pointer}/{_escaped(path)}"
        if not _is_inside(path):
            check.fault(where, f"{path[:80]!r} is not a path below the directory of the distribution")
        if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            check.fault(where, "a digest must be 'sha256:' and 64 digits in hex")


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return _plain(path) and "\\" not in path and ":" not in path and not {"", ".", ".."} & set(parts)


def _tool(name: str, value: Any, pointer: str, check: Check) -> AdoptedTool | None:
    if not TOOL_NAME.fullmatch(name):
        check.fault(pointer, f"{name[:80]!r} is not a tool name (lower-case letters, digits and '_')")
        return None
    if not _shaped(value, _TOOL, tuple(_TOOL), pointer, check):
        return None
    entry, called, definition = value["entry"], value["called"], value["definition"]
    if len(entry) > MAX_TEXT or not _ENTRY.fullmatch(entry):
        check.fault(f"{pointer}/entry", f"{entry[:80]!r} is not 'module' or 'module:attribute'")
    if not _plain(called):
        check.fault(f"{pointer}/called", "called must be one short line")
    _check_definition(definition, f"{pointer}/definition", check)
    return AdoptedTool(name, entry, called, definition)


def _check_definition(definition: dict[str, Any], pointer: str, check: Check) -> None:
    members = definition.get("members")
    own = (
        {key: value for key, value in definition.items() if key != "members"} if "members" in definition else definition
    )
    for key in ("name", "entry"):
        if key in own:
            check.fault(f"{pointer}/{key}", f"{key} has its place outside the definition")
    check_tool(own, pointer, check, required=("kind",))
    if members is None:
        return
    if not isinstance(members, dict):
        check.fault(f"{pointer}/members", f"members must be an object, not {type_of(members)}")
        return
    for name, member in members.items():
        where = f"{pointer}/members/{_escaped(name)}"
        if not _plain(name):
            check.fault(where, "a name must be one short line")
        check_tool(member, where, check, required=("kind",))


def _plain(text: str) -> bool:
    return 0 < len(text) <= MAX_TEXT and text.isprintable()


def _escaped(key: str) -> str:
    return key[:80].replace("~", "~0").replace("/", "~1")
