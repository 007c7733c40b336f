"""A wheel as a folder of its read files: sources, manifests and metadata, within limits, and nothing else."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from strands_cli_index.reading.site_files import FILE, MAX_WHEEL_BYTES, NAME, VERSION
from strands_cli_index.wheel_facts import normalise, read_header

MAX_MEMBERS = 20_000
MAX_DECLARED_BYTES = 2_000_000_000
MAX_READ_BYTES = 200_000_000
MAX_FILE_BYTES = 2_000_000
_READ = (".py", ".pyi", ".json", ".yaml", ".yml", ".md", ".txt", ".toml")
_IMPORTED = ("purelib", "platlib")
_BLOCK = 1_048_576
_NOT_ZIP = (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError)


class UnfitWheelError(Exception):
    """A wheel that cannot be in an index; the message is the reason."""


@dataclass(frozen=True, slots=True)
class WheelTree:
    """A wheel that was read.

    Attributes:
        file: The name of its file.
        name: Normalised name of the distribution.
        version: The version that its metadata states.
        tree: The folder with the read files, laid out as on `sys.path`; other files are empty.
        dist_info: Its `*.dist-info` in the tree.
        sha256: In hex.
        size: In bytes.
    """

    file: str
    name: str
    version: str
    tree: Path
    dist_info: Path
    sha256: str
    size: int


def read_wheel(wheel: Path, copy: Path, tree: Path) -> WheelTree:
    """Copy a wheel and unpack its read files from the copy, so that all of it is about the same bytes.

    Args:
        wheel: The file.
        copy: Where the copy is written.
        tree: A folder that does not exist yet.

    Raises:
        UnfitWheelError: It is not a wheel, it is another one than its file name states, or it exceeds a limit.
    """
    stem = _words_of(wheel.name)
    try:
        digest, size = _copied(wheel, copy)
        with zipfile.ZipFile(copy) as opened:
            _unpack(opened, tree)
    except _NOT_ZIP as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UnfitWheelError(f"it is not a wheel: {reason}") from None
    dist_info = _dist_info_of(tree)
    name, version = read_header(dist_info, "Name"), read_header(dist_info, "Version")
    if name is None or version is None or not NAME.fullmatch(normalise(name)) or not VERSION.fullmatch(version):
        raise UnfitWheelError(f"its metadata states no proper name and version: {str(name)[:60]!r}, {version!r}")
    name_and_version = (normalise(name), _plain(version))
    for source, words in (("file name", stem), ("folder of metadata", dist_info.name.removesuffix(".dist-info"))):
        stated_name, _, stated_version = words.partition("-")
        if (normalise(stated_name), _plain(stated_version)) != name_and_version:
            raise UnfitWheelError(f"its {source} states {stated_name} {stated_version}, its metadata {name} {version}")
    return WheelTree(wheel.name, name_and_version[0], version, tree, dist_info, digest, size)


def _words_of(file: str) -> str:
    """Return name and version of a wheel's file name, as `name-version`."""
    parts = file.removesuffix(".whl").split("-")
    if not FILE.fullmatch(file) or len(parts) not in (5, 6) or "" in parts:
        raise UnfitWheelError("its file name is not that of a wheel (NAME-VERSION-PYTHON-ABI-PLATFORM.whl)")
    return "-".join(parts[:2])


def _plain(version: str) -> str:
    return version.replace("-", "_").lower()


def _copied(wheel: Path, copy: Path) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with wheel.open("rb") as source, copy.open("xb") as target:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > MAX_WHEEL_BYTES:
                raise UnfitWheelError(f"it is larger than {MAX_WHEEL_BYTES:,} bytes")
            digest.update(block)
            target.write(block)
    return digest.hexdigest(), size


def _unpack(opened: zipfile.ZipFile, tree: Path) -> None:
    members = opened.infolist()
    if len(members) > MAX_MEMBERS:
        raise UnfitWheelError(f"it has {len(members):,} files; at most {MAX_MEMBERS:,} are read")
    if sum(member.file_size for member in members) > MAX_DECLARED_BYTES:
        raise UnfitWheelError(f"it unpacks to more than {MAX_DECLARED_BYTES:,} bytes")
    if sum(member.file_size for member in members if _is_read(member)) > MAX_READ_BYTES:
        raise UnfitWheelError(f"its sources and metadata are more than {MAX_READ_BYTES:,} bytes")
    tree.mkdir()
    for member in members:
        parts = _parts_of(member)
        if not parts:
            continue
        target = tree.joinpath(*parts)
        if os.path.lexists(target):
            raise UnfitWheelError(f"it has two files for one place: {member.filename!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as written:
            if _is_read(member):
                with opened.open(member) as source:
                    shutil.copyfileobj(source, written)


def _is_read(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename)
    is_metadata = path.parts[:1] != () and path.parts[0].endswith(".dist-info") and len(path.parts) == 2
    return member.file_size <= MAX_FILE_BYTES and (path.suffix in _READ or is_metadata)


def _parts_of(member: zipfile.ZipInfo) -> tuple[str, ...]:
    """Return the parts of the path at which a file is imported; none for a folder, a program or other data."""
    name = member.filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0] == "/" or ".." in parts or any(":" in part for part in parts) or "\\" in name:
        raise UnfitWheelError(f"it has a file that leaves its folder: {name!r}")
    if not name.isprintable():
        raise UnfitWheelError(f"it has a file whose name has control characters: {name!r}")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise UnfitWheelError(f"it has a link: {name!r}")
    if member.is_dir():
        return ()
    if parts[0].endswith(".data"):
        return parts[2:] if len(parts) > 2 and parts[1] in _IMPORTED else ()
    return parts


def _dist_info_of(tree: Path) -> Path:
    paths = [path for path in tree.iterdir() if path.name.lower().endswith(".dist-info")]
    if len(paths) != 1 or not (paths[0] / "METADATA").is_file():
        raise UnfitWheelError("it has not exactly one *.dist-info with METADATA")
    return paths[0]
