"""Fetch a distribution into a temporary folder, for the preview before its installation, importing nothing."""

from __future__ import annotations

import hashlib
import io
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from strands_cli.api import InvalidInput, NotEquipped, PluginInstaller, UnpackedPlugin, UsageError
from strands_cli_index.wheel_facts import normalise, read_header

MAX_UNPACKED_BYTES = 2_000_000_000
_IMPORTED = ("purelib", "platlib")
# Where installers put headers in a virtual environment, in a folder for each distribution.
_HEADERS = ("include", "site", f"python{sys.version_info.major}.{sys.version_info.minor}")
_REPORT = "do not install it; report it to its author"
# Names of metadata for Python's own finders of a distribution: one wheel is one.
_METADATA = (".dist-info", ".egg-info", "egg-info", ".egg-link")
_PROGRAM_FOLDERS = ("bin", "Scripts")


@dataclass(frozen=True, slots=True)
class DownloadedDistribution:
    """A distribution before its installation.

    Attributes:
        plugin: Its unpacked files, with their parts and changes here.
        version: The version in its metadata.
        wheel: The wheel; None if the installer does not provide it (uv, by name).
        hashes: The hashes that the installed wheel must have.
        is_indexed: Whether it came from an index, not from a file of this machine.
        extras: `[a,b]` or empty.
        plugin_index: The plugin index that the wheel came from, if it came from one.
    """

    plugin: UnpackedPlugin
    version: str
    wheel: Path | None
    hashes: tuple[str, ...]
    is_indexed: bool
    extras: str = ""
    plugin_index: str | None = None

    @property
    def name(self) -> str:
        """Its normalised name."""
        return self.plugin.name


def fetch(installer: PluginInstaller, folder: Path, may_build: Callable[[str], bool]) -> DownloadedDistribution:
    """Download, build or copy a distribution into a folder, and unpack it there.

    Args:
        folder: An empty folder.
        may_build: Called with the reason before a wheel is built, because a build runs unreviewed code.

    Raises:
        NotEquipped: The installer fails, or there is no wheel and a build is not allowed.
        UsageError: Building a folder or an archive is not allowed.
        InvalidInput: The file is not a wheel, or belongs to another distribution.
    """
    target = installer.target
    if target.path is None:
        try:
            return _by_name(installer, folder / "as-wheel", build=False)
        except NotEquipped as error:
            if not may_build(f"no wheel of {target.requirement} was found: {error.message}"):
                raise
            return _by_name(installer, folder / "built", build=True)
    wheel = target.path
    if wheel.suffix != ".whl":
        if not may_build(f"{wheel} is not a wheel"):
            raise UsageError(f"{wheel} was not built, because a build runs code of its author", fix="pass --yes")
        installer.program.wheel(str(wheel), _new(folder / "wheels"), build=True)
        wheel = _only_wheel(folder / "wheels")
    return unpack_wheel(wheel, _new(folder / "tree"), installer)


def _by_name(installer: PluginInstaller, folder: Path, *, build: bool) -> DownloadedDistribution:
    wheels, tree = _new(folder / "wheels"), _new(folder / "tree")
    if installer.program.kind == "uv":
        return _fetched_by_uv(installer, folder, tree, [] if build else ["--no-build"])
    installer.program.wheel(installer.target.requirement, wheels, build=build)
    return unpack_wheel(_only_wheel(wheels), tree, installer)


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _only_wheel(folder: Path) -> Path:
    paths = list(folder.glob("*.whl"))
    if len(paths) != 1:
        raise NotEquipped(f"the installer created {len(paths)} wheels, not one", fix="name a wheel file")
    return paths[0]


def unpack_wheel(wheel: Path, tree: Path, installer: PluginInstaller) -> DownloadedDistribution:
    """Unpack a wheel into an empty folder.

    Args:
        installer: Has the distribution whose wheel it must be.

    Raises:
        InvalidInput: It is not a wheel.
        UsageError: It belongs to another distribution.
    """
    # Read once: the preview, the hash and the installation must use the same bytes.
    raw = wheel.read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as opened:
            scripts, elsewhere = _extract(opened, tree)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise InvalidInput(f"{wheel.name} is not a wheel: {error}", fix="build or download it again") from error
    target = installer.target
    name, version, dist_info = _described(tree, target.name)
    plugin = UnpackedPlugin(name, tree, dist_info, tuple(scripts), tuple(elsewhere))
    return DownloadedDistribution(plugin, version, wheel, (f"sha256:{digest}",), target.path is None, target.extras)


def _extract(opened: zipfile.ZipFile, tree: Path) -> tuple[list[str], list[str]]:
    """Write the importable files into `tree`; return the names of the wheel's other programs, and all other paths."""
    if sum(member.file_size for member in opened.infolist()) > MAX_UNPACKED_BYTES:
        raise InvalidInput("the wheel unpacks to more than 2 GB", fix=_REPORT)
    scripts: list[str] = []
    elsewhere: list[str] = []
    for member in opened.infolist():
        parts = PurePosixPath(member.filename.replace("\\", "/")).parts
        if not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
            raise InvalidInput(f"the wheel has a file that leaves its folder: {member.filename!r}", fix=_REPORT)
        if member.is_dir():
            continue
        if parts[0].endswith(".data"):
            owner, scheme, parts = parts[0], (parts[1] if len(parts) > 2 else ""), parts[2:]
            if scheme == "scripts":
                scripts.append("/".join(parts))
            elif scheme in ("data", "headers"):
                below = (*_HEADERS, owner.partition("-")[0].replace("_", "-")) if scheme == "headers" else ()
                elsewhere.append(str(Path(sys.prefix, *below, *parts)))
            elif scheme not in _IMPORTED:
                raise InvalidInput(f"the wheel has a file of an unknown scheme: {member.filename!r}", fix=_REPORT)
            if scheme not in _IMPORTED:
                continue
        target = tree.joinpath(*parts)
        if target.exists():
            raise InvalidInput(f"the wheel has two files for one place: {member.filename!r}", fix=_REPORT)
        target.parent.mkdir(parents=True, exist_ok=True)
        with opened.open(member) as source, target.open("wb") as written:
            shutil.copyfileobj(source, written)
    return scripts, elsewhere


def _fetched_by_uv(installer: PluginInstaller, folder: Path, tree: Path, rules: list[str]) -> DownloadedDistribution:
    """Have uv choose the version, list its hashes, and install it into a folder without imports."""
    target, uv = installer.target, installer.program
    path, chosen = folder / "asked.txt", folder / "chosen.txt"
    path.write_text(f"{target.requirement}\n", encoding="utf-8")
    plain = ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--generate-hashes"]
    here = ["--python", sys.executable, "--no-deps", *rules]
    uv.run("pip", "compile", *here, *plain, "--quiet", "-o", str(chosen), str(path))
    uv.run("pip", "install", *here, "--target", str(tree), "-r", str(chosen))
    hashes = [part.partition("=")[2] for part in chosen.read_text(encoding="utf-8").split() if part[:7] == "--hash="]
    name, version, dist_info = _described(tree, target.name)
    plugin = UnpackedPlugin(name, tree, dist_info, _programs(tree), is_mixed=True)
    return DownloadedDistribution(plugin, version, None, tuple(hashes), True, target.extras)


def _programs(tree: Path) -> tuple[str, ...]:
    folder = tree / ("Scripts" if sys.platform == "win32" else "bin")
    return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()


def _described(tree: Path, wanted_name: str | None) -> tuple[str, str, Path]:
    """Return the normalised name and the version of the distribution in a tree, and its `*.dist-info`."""
    records = [path for path in tree.iterdir() if path.name.lower().endswith(_METADATA)]
    name = read_header(records[0], "Name") if len(records) == 1 else None
    version = _version_of(records[0]) if len(records) == 1 else None
    if name is None or version is None:
        raise InvalidInput("the wheel does not state one name and version, in one *.dist-info", fix="build it again")
    if wanted_name is not None and normalise(name) != normalise(wanted_name):
        raise UsageError(f"the wheel is of '{name}', not of '{wanted_name}'")
    return normalise(name), version, records[0]


def _version_of(record: Path) -> str | None:
    """Return the version in the name of a record, or in its metadata."""
    version = record.stem.partition("-")[2] if record.suffix else ""
    return version or read_header(record, "Version")


def install_fetched(fetched: DownloadedDistribution, installer: PluginInstaller, folder: Path, *, lacks: bool) -> None:
    """Install the fetched distribution, by its hash.

    Args:
        folder: A folder for temporary files.
        lacks: Whether a dependency is missing, and then installed, too.

    Raises:
        NotEquipped: The installer fails.
    """
    program, named = installer.program, f"{fetched.name}{fetched.extras}"
    by_hash = folder / "exact.txt"
    line = [f"{named}=={fetched.version}", *(f"--hash={digest}" for digest in fetched.hashes)]
    by_hash.write_text(" ".join(line) + "\n", encoding="utf-8")
    alone = [] if lacks else ["--no-deps"]
    if fetched.wheel is None:
        program.install(*alone, "--reinstall-package", fetched.name, "-r", str(by_hash))
        return
    file = f"{named} @ {fetched.wheel.as_uri()}#sha256={fetched.hashes[0].partition(':')[2]}"
    if program.kind == "uv" and not fetched.is_indexed:
        program.install(*alone, "--reinstall-package", fetched.name, file)
        return
    from_wheel = ["--no-index", "--find-links", str(fetched.wheel.parent), "--require-hashes", "-r", str(by_hash)]
    # In one call pip either reinstalls all dependencies, or does not replace files of the same version: so in separate
    # calls. The first one only checks that the dependencies are available, and changes nothing.
    if lacks:
        program.install("--dry-run", file)
    again = ["--force-reinstall"] if program.kind == "pip" else ["--reinstall-package", fetched.name]
    program.install(*again, "--no-deps", *(from_wheel if fetched.is_indexed else [file]))
    if lacks:
        program.install(f"{named}=={fetched.version}")


def require_same(fetched: DownloadedDistribution, installer: PluginInstaller) -> None:
    """Check that the installed files are those of the preview, and uninstall them if they are not.

    Raises:
        NotEquipped: The files differ.
    """
    sites, plugin = {sysconfig.get_path(scheme) for scheme in _IMPORTED}, fetched.plugin
    for path in plugin.tree.rglob("*"):
        inside = path.relative_to(plugin.tree)
        if not path.is_file() or inside.parts[0] in (".lock", *_PROGRAM_FOLDERS, plugin.dist_info.name):
            continue
        expected = _digest_of(path)
        if not any(_digest_of(Path(site) / inside) == expected for site in sites):
            installer.program.uninstall(fetched.name)
            difference = f"other files than the preview showed ({inside}), so they were uninstalled"
            fix = f"strands plugin install {fetched.name}=={fetched.version}"
            raise NotEquipped(f"{installer.program.kind} installed {difference}", fix=fix)


def _digest_of(path: Path) -> str | None:
    try:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return None
