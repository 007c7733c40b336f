"""Make the folder of an index: the wheels, `index.json`, `search.jsonl`, the pages for pip and those for people."""

from __future__ import annotations

import glob
import json
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.api import Code, Finding, UsageError, Where, counted
from strands_cli_index.building.index_pages import index_pages, simple_pages
from strands_cli_index.building.release_entry import check_phrase, describe_wheel, is_plugin
from strands_cli_index.building.wheel_tree import UnfitWheelError, WheelTree, read_wheel
from strands_cli_index.publishers.beside import attested_beside, provenance_beside
from strands_cli_index.reading.search_file import GROUPS, search_text
from strands_cli_index.reading.site_files import FORMAT, KIND, MAX_BYTES, SEARCHED, WHEELS, WHOLE, strict_json

WHEEL_LEFT_OUT = Code(
    "wheel-left-out",
    "A file of a wheelhouse is not a wheel, or not the one that its name states.",
    "Build or download it again, or remove it.",
)
PROOF_UNREAD = Code(
    "proof-unread",
    "An index states wheels as unverified, since this machine cannot verify their proofs.",
    'Install this, and build again: pip install "strands-cli[attestations]"',
)

MAX_WHEELS = 20_000
_DIVIDE = "divide the wheels between two folders, and make an index of each"
SIMPLE = "simple"
_NOT_SAME = "its tools, workflows, agents or skills are not those of {}, which has the same version"


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index that was made: its document, and the findings about files that it leaves out."""

    document: Mapping[str, Any]
    findings: tuple[Finding, ...]


def build_site(wheelhouse: Path, site: Path) -> BuiltIndex:
    """Make an index of the wheels in a folder; the same wheels make the same bytes.

    An index that was there is replaced as a whole when the new one is complete.

    Args:
        wheelhouse: The folder; folders in it are not read.
        site: The folder to make, which is absent, empty or an index.

    Raises:
        UsageError: A folder is not right, or the index would be larger than the limit for reading one.
    """
    _require_folders(wheelhouse, site)
    partial_site = site.with_name(f".{site.name}.{secrets.token_hex(8)}.partial")
    try:
        (partial_site / WHEELS).mkdir(parents=True)
        document, findings = _collected(wheelhouse, partial_site)
        _write_texts(partial_site, document)
        _replace(site, partial_site)
    except OSError as error:
        message = f"the index cannot be written to {site}: {error.strerror or error}"
        raise UsageError(message, fix="check the folder, or name another one with -o") from error
    finally:
        shutil.rmtree(partial_site, ignore_errors=True)
    return BuiltIndex(document, tuple(findings))


def _require_folders(wheelhouse: Path, site: Path) -> None:
    if not wheelhouse.is_dir():
        raise UsageError(f"there is no folder {wheelhouse}", fix="name a folder with wheels: pip wheel -w FOLDER NAME")
    inside = wheelhouse.resolve().is_relative_to(site.resolve())
    if inside:
        raise UsageError(
            f"{wheelhouse} is inside of {site}, which would be replaced", fix="name another folder with -o"
        )
    if not site.exists():
        return
    if not site.is_dir() or site.is_symlink():
        raise UsageError(f"{site} is not a folder", fix="name another one with -o")
    if any(site.iterdir()) and not _is_index(site):
        raise UsageError(f"{site} has other files, which would be removed", fix="name a new folder with -o")


def _is_index(site: Path) -> bool:
    try:
        document = strict_json((site / WHOLE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("kind") == KIND


def _collected(wheelhouse: Path, partial_site: Path) -> tuple[dict[str, Any], list[Finding]]:
    """Return the document of all wheels, and the findings about omitted files."""
    findings: list[Finding] = []
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    files = sorted(path for path in wheelhouse.iterdir() if not path.name.startswith(".") and path.is_file())
    wheels = [path for path in files if path.suffix == ".whl"]
    if len(wheels) > MAX_WHEELS:
        message = f"{wheelhouse} has {len(wheels):,} wheels; an index has at most {MAX_WHEELS:,}"
        raise UsageError(message, fix=_DIVIDE)
    for path in files:
        if path.suffix != ".whl" and path.name.endswith((".tar.gz", ".zip")):
            message = f"{path.name} is a source archive, and an index is made from wheels"
            fix = f"build it: pip wheel -w {wheelhouse} {path}"
            findings.append(Finding(WHEEL_LEFT_OUT, message, Where(str(path)), fix, "warning"))
    unread: dict[str, str] = {}
    for path in wheels:
        try:
            if reason := _add(path, partial_site, entries):
                unread[path.name] = reason
        except UnfitWheelError as error:
            for copy in (partial_site / WHEELS).glob(f"{glob.escape(path.name)}*"):
                copy.unlink()
            findings.append(Finding(WHEEL_LEFT_OUT, f"{path.name} is left out: {error}", Where(str(path))))
    if unread:
        name, reason = next(iter(unread.items()))
        message = f"{counted(len(unread), 'wheel')} beside which a proof lies, as {name}, cannot be verified: {reason}"
        findings.append(Finding(PROOF_UNREAD, message, Where(str(wheelhouse)), severity="warning"))
    ordered = sorted(entries.values(), key=_order)
    releases = [release for release in ordered if is_plugin(release)]
    libraries = [
        {key: release[key] for key in ("name", "version", "requires_python", "requires", "files")}
        for release in ordered
        if not is_plugin(release)
    ]
    return {"kind": KIND, "format": FORMAT, "releases": releases, "libraries": libraries}, findings


def _add(path: Path, partial_site: Path, entries: dict[tuple[str, str], dict[str, Any]]) -> str | None:
    """Copy a wheel into the site, add it to the entry of its release, and return why its proof cannot be verified."""
    tree = partial_site / "tree"
    try:
        wheel = read_wheel(path, partial_site / WHEELS / path.name, tree)
        _require_version(wheel)
        described = describe_wheel(wheel)
        publisher, proof, reason = _stated_publisher(path, partial_site / WHEELS / path.name)
    except (RecursionError, MemoryError, UnicodeError) as error:
        raise UnfitWheelError(f"it cannot be read ({type(error).__name__})") from None
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    entry_of_release = entries.setdefault(
        (wheel.name, wheel.version),
        {"name": wheel.name, "version": wheel.version, **described, "publisher": publisher, "files": []},
    )
    if {key: entry_of_release[key] for key in described} != described or entry_of_release["publisher"] != publisher:
        raise UnfitWheelError(_NOT_SAME.format(entry_of_release["files"][0]["file"]))
    file: dict[str, Any] = {"file": wheel.file, "sha256": wheel.sha256, "size": wheel.size}
    if proof is not None:
        file["provenance"] = proof
    entry_of_release["files"].append(file)
    return reason


def _stated_publisher(wheel: Path, copy: Path) -> tuple[dict[str, Any], str | None, str | None]:
    """Return the publisher of a wheel, the name of the file that proves it, copied too, and why it does not.

    Args:
        wheel: The wheel in its folder.
        copy: Its copy in the site, for which the publisher is verified.

    Raises:
        UnfitWheelError: A file beside the wheel does not fit it.
    """
    proof = provenance_beside(wheel)
    if proof is None:
        return _stated("unverified", None), None, None
    if proof.stat().st_size > MAX_BYTES:
        raise UnfitWheelError(f"{proof.name} is larger than {MAX_BYTES:,} bytes")
    shutil.copyfile(proof, copy.with_name(proof.name))
    attestation = attested_beside(copy)
    if attestation.status == "wrong":
        raise UnfitWheelError(f"{proof.name} does not prove its publisher: {attestation.reason}")
    stated = _stated(attestation.status, attestation.publisher.as_dict() if attestation.publisher else None)
    return stated, proof.name, attestation.reason or None


def _stated(status: str, publisher: dict[str, Any] | None) -> dict[str, Any]:
    fields = publisher or {}
    return {"status": status, **{key: fields.get(key) for key in ("kind", "repository", "workflow")}}


def _require_version(wheel: WheelTree) -> None:
    from packaging.version import InvalidVersion, Version

    try:
        Version(wheel.version)
    except InvalidVersion:
        raise UnfitWheelError(f"{wheel.version!r} is not a version") from None


def _order(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key that sorts releases by name, the newest version first."""
    from packaging.version import Version

    return entry["name"], _ReverseOrder(Version(entry["version"])), entry["version"]


class _ReverseOrder:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _ReverseOrder) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ReverseOrder) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def _write_texts(partial_site: Path, document: Mapping[str, Any]) -> None:
    whole = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    texts = {WHOLE: whole, SEARCHED: search_text(search_lines(document["releases"]))}
    for name, text in texts.items():
        if len(text.encode("utf-8", "replace")) > MAX_BYTES:
            message = f"{name} would be larger than {MAX_BYTES:,} bytes, which is the most that is read of an index"
            raise UsageError(message, fix=_DIVIDE)
    texts |= {f"{SIMPLE}/{path}": text for path, text in simple_pages(document).items()}
    texts |= index_pages(document)
    for name, text in texts.items():
        target = partial_site / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "backslashreplace"))


def search_lines(releases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of a search: one for each distribution, about its newest version."""
    lines: dict[str, dict[str, Any]] = {}
    for release in releases:
        if release["name"] in lines:
            lines[release["name"]]["versions"].append(release["version"])
            continue
        tools = [
            _searched_tool(tool)
            for tool_value in release["tools"]
            for tool in (tool_value, *(tool_value["members"] or ()))
        ]
        stated = release["publisher"]
        publisher = f"{stated['kind']}:{stated['repository']}" if stated["status"] == "verified" else ""
        lines[release["name"]] = {
            "name": release["name"],
            "versions": [release["version"]],
            "summary": release["summary"],
            "tools": tools,
            **{group: [name for folder in release[group] for name in _names_of(folder)] for group in GROUPS},
            "publisher": publisher,
            "check": check_phrase(release["check"]),
            "adopt": release["adopt"],
        }
    return list(lines.values())


def _searched_tool(tool: Mapping[str, Any]) -> dict[str, str]:
    texts = {key: " ".join(str(tool[key] or "").split())[:300] for key in ("description", "permissions")}
    return {"name": str(tool["name"]), **texts}


def _names_of(folder: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys([folder["name"], *folder["files"]]))


def summary_lines(built: BuiltIndex) -> list[str]:
    """Return one line for each release, and the sum."""
    releases, libraries = built.document["releases"], built.document["libraries"]
    lines = [f"{release['name']} {release['version']}: {_state(release)}" for release in releases]
    others = f", {counted(len(libraries), 'other distribution')}" if libraries else ""
    return [*lines, counted(len(releases), "release") + others]


def _state(release: Mapping[str, Any]) -> str:
    return f"{counted(len(release['tools']), 'tool')} to adopt" if release["adopt"] else check_phrase(release["check"])


def _replace(site: Path, partial_site: Path) -> None:
    """Put the new index in the place of the old one, which stays until then."""
    if not site.exists():
        partial_site.rename(site)
        return
    old = site.with_name(f".{site.name}.{secrets.token_hex(8)}.old")
    site.rename(old)
    try:
        partial_site.rename(site)
    except OSError:
        old.rename(site)
        raise
    shutil.rmtree(old, ignore_errors=True)
