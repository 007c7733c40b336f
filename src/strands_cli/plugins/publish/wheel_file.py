"""A wheel that is to be published: built apart from the project, and read without unpacking it."""

from __future__ import annotations

import hashlib
import io
import shlex
import zipfile
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from strands_cli.catalog.files import open_distribution
from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, Where

if TYPE_CHECKING:
    from packaging.metadata import RawMetadata

WHEEL_NOT_BUILT = Code(
    "wheel-not-built",
    "A project's wheel cannot be built or read, so what would be published is not known.",
    "Build it, and name it: strands plugin publish --check --wheel FILE",
)

# What indexes accept in one file unless more is granted.
MAX_WHEEL_BYTES = 100_000_000
MAX_UNPACKED_BYTES = 1_000_000_000
MAX_FILES = 20_000
MAX_TEXT_BYTES = 2_000_000


class WheelFile:
    """A wheel in memory; of its members only names are read until a text is asked for.

    Attributes:
        name: The name of its file.
        sha256: The digest of the file, as hexadecimal digits.
        size: Its bytes.
        files: The paths of its files, sorted.
    """

    def __init__(self, name: str, raw: bytes) -> None:
        self.name, self.size = name, len(raw)
        self.sha256 = hashlib.sha256(raw).hexdigest()
        self._opened = zipfile.ZipFile(io.BytesIO(raw))
        members = self._opened.infolist()
        if len(members) > MAX_FILES:
            raise ValueError(f"it has {len(members):,} files; at most {MAX_FILES:,} are read")
        if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
            raise ValueError("it unpacks to more than 1 GB")
        if twice := _twice([member.filename for member in members]):
            raise ValueError(f"it has two files of one name: {twice!r}")
        self.files = tuple(sorted(member.filename for member in members if not member.is_dir()))

    @cached_property
    def dist_info(self) -> str:
        """The folder of its metadata."""
        found = {path.partition("/")[0] for path in self.files if path.partition("/")[0].endswith(".dist-info")}
        if len(found) != 1:
            raise ValueError(f"it has {len(found)} folders *.dist-info, not one")
        return found.pop()

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file; None where there is none, or it is larger than 2 MB."""
        try:
            member = self._opened.getinfo(path)
        except KeyError:
            return None
        if member.file_size > MAX_TEXT_BYTES:
            return None
        with self._opened.open(member) as opened:
            return opened.read(MAX_TEXT_BYTES)

    def metadata(self) -> RawMetadata:
        """Return what its METADATA says, as it is."""
        from packaging.metadata import parse_email

        raw = self.read(f"{self.dist_info}/METADATA")
        if raw is None:
            raise ValueError("it has no METADATA")
        return parse_email(raw)[0]

    def entry_points(self) -> Mapping[str, Mapping[str, str]]:
        """Return its entry points: group -> name -> value."""
        raw = self.read(f"{self.dist_info}/entry_points.txt")
        if raw is None:
            return {}
        with TemporaryDirectory() as folder:
            # The reader of installed distributions, so that both take the same for an entry point.
            Path(folder, "entry_points.txt").write_bytes(raw)
            found: dict[str, dict[str, str]] = {}
            for point in open_distribution(folder).entry_points:
                found.setdefault(point.group, {})[point.name] = point.value
            return found

    def top_names(self) -> list[str]:
        """Return the files and folders beside its metadata."""
        names = {PurePosixPath(path).parts[0] for path in self.files if PurePosixPath(path).parts}
        return sorted(names - {self.dist_info})


def _twice(names: list[str]) -> str | None:
    folded = sorted(names, key=str.casefold)
    return next((one for one, other in pairwise(folded) if one.casefold() == other.casefold()), None)


def read_wheel(file: Path) -> WheelFile:
    """Read a wheel.

    Raises:
        InvalidInput: It is missing, too large, or no wheel.
    """
    try:
        if file.stat().st_size > MAX_WHEEL_BYTES:
            raise ValueError(f"it has {file.stat().st_size:,} bytes; indexes accept {MAX_WHEEL_BYTES:,}")
        wheel = WheelFile(file.name, file.read_bytes())
        wheel.metadata()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _unreadable(f"{file.name} cannot be read as a wheel: {error}", Where(str(file))) from error
    return wheel


def build_wheel(directory: Path) -> WheelFile:
    """Build the wheel of a project in a temporary folder, with pip or uv, and read it.

    Raises:
        InvalidInput: The build fails.
    """
    from strands_cli.plugins.install import find_installer

    with TemporaryDirectory() as folder:
        try:
            find_installer().wheel(str(directory), Path(folder), build=True)
            (file,) = Path(folder).glob("*.whl")
        except StrandsCliError as error:
            fix = f"see the whole error: python -m pip wheel -w dist {shlex.quote(str(directory))}"
            raise _unreadable(f"no wheel was built: {error.message}", Where(str(directory)), fix) from error
        except ValueError:
            raise _unreadable("the build made no wheel, or several", Where(str(directory))) from None
        return read_wheel(file)


def _unreadable(message: str, where: Where, fix: str | None = None) -> InvalidInput:
    return InvalidInput("there is no wheel", findings=[Finding(WHEEL_NOT_BUILT, message, where, fix)])
