"""Write which tools a person adopted, and take them out again."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import canonicalize_name

from strands_cli.api import AdoptedFile, ArtifactError, InvalidInput
from strands_cli_dev.adoption.candidates import Candidate


@dataclass(frozen=True, slots=True)
class Adoption:
    """The changes by an adoption: the file, the present names of its tools, and the earlier ones."""

    file: Path
    names: tuple[str, ...]
    before: tuple[str, ...]


def read_for_change(path: Path) -> AdoptedFile:
    """Read an adoption file to be written again.

    Raises:
        InvalidInput: It has a fault; writing it would lose the unreadable parts.
    """
    adopted, findings = AdoptedFile.read(path)
    faults = [finding for finding in findings if finding.severity == "error"]
    if faults:
        raise InvalidInput(f"{path} cannot be changed while it has faults", findings=faults)
    return adopted


def adopt(path: Path, distribution: str, candidates: Sequence[Candidate], *, adds: bool) -> Adoption:
    """Write tools into an adoption file, with the digests of the modules that define them.

    Args:
        path: The file, which need not exist.
        distribution: The normalised name of the installed distribution.
        candidates: The tools.
        adds: Whether the tools that the file has of it stay, if the distribution is the one that was adopted.

    Raises:
        InvalidInput: The file has a fault.
        ArtifactError: It cannot be written.
    """
    with _alone(path):
        file = read_for_change(path)
        before = file.distributions.get(distribution)
        tools = {candidate.name: candidate.tool for candidate in candidates}
        entries = {tool.entry for tool in tools.values()}
        other_names: list[str] = []
        if adds and before is not None:
            other_names = [
                name for name, tool in before.tools.items() if name not in tools and tool.entry not in entries
            ]
        _require_free(path, distribution, [*tools, *other_names], file)
        imported = any(candidate.imported for candidate in candidates) or (
            bool(other_names) and before is not None and before.imported
        )
        _write(path, file.with_tools(distribution, tools, other_names, imported=imported))
    return Adoption(path, tuple(sorted([*tools, *other_names])), tuple(sorted(before.tools)) if before else ())


def unadopt(path: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Take distributions, or tools by their names, out of an adoption file.

    Returns:
        The tools that were removed, by distribution; empty if the file has none of the names, which changes nothing.

    Raises:
        InvalidInput: The file has a fault.
        ArtifactError: It cannot be written.
    """
    with _alone(path):
        file = read_for_change(path)
        left, removed = dict(file.distributions), dict[str, list[str]]()
        for key, distribution in file.distributions.items():
            whole = any(canonicalize_name(name) == key for name in names)
            going = [name for name in distribution.tools if whole or name in names or f"{key}/{name}" in names]
            staying = {name: tool for name, tool in distribution.tools.items() if name not in going}
            if going:
                removed[key] = sorted(going)
            if staying or not (whole or going):
                left[key] = replace(distribution, tools=staying)
            else:
                del left[key]
        if removed:
            _write(path, AdoptedFile(left))
    return removed


def _require_free(path: Path, distribution: str, names: Iterable[str], file: AdoptedFile) -> None:
    """Refuse names that another process has given in the meantime."""
    for key, others_tools in file.distributions.items():
        common_names = sorted(set(names) & set(others_tools.tools)) if key != distribution else []
        if common_names:
            message = f"'{key}' has a tool '{common_names[0]}' in {path} by now; nothing was adopted"
            raise InvalidInput(message, fix=f"strands plugin adopt {distribution} --tool {common_names[0]}=ALIAS")


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from changing the file between reading and writing it: one of the changes would be lost."""
    if sys.platform == "win32":
        import filelock

        with filelock.FileLock(f"{path.resolve()}.lock"):  # removed with its release there
            yield
        return
    import fcntl

    folder = path.resolve().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)  # of the folder, so that no other file is left in it
        yield
    finally:
        os.close(handle)


def _write(path: Path, file: AdoptedFile) -> None:
    try:
        file.write(path)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> ArtifactError:
    return ArtifactError(f"{path} cannot be written: {error.strerror or error}", fix="choose another place")
