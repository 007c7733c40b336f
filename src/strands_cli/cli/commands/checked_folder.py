"""The workflows and agents in a folder and the folders in it: what `strands validate DIR` checks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from strands_cli.cli.output.messages import say
from strands_cli.errors import StrandsCliError, UsageError

# Folders of other people's files: environments, and what package managers and builds write.
_OTHERS = frozenset({"node_modules", "site-packages", "__pycache__"})
_MEANT = re.compile(r"^[\"']?(pattern|agents|prompt)[\"']?\s*:", re.MULTILINE)


class FoundFile(NamedTuple):
    """A file to check: its path as it is shown, and what it is."""

    name: str
    kind: Literal["workflow", "agent"]


def files_in(folder: str) -> list[FoundFile]:
    """Return the workflows and agents below a folder, by their paths; other YAML and JSON is left alone.

    Hidden folders, virtual environments and links to folders are left out. A file that cannot be read is one of them if
    its text has a key of theirs, and is otherwise named on stderr.

    Raises:
        UsageError: The folder cannot be read, or there is none of them in it.
    """
    found = [FoundFile(str(path), kind) for path in _yaml_below(folder) if (kind := _kind(path)) is not None]
    if not found:
        raise UsageError(f"there is no workflow and no agent in {folder}", fix="name a file, or another folder")
    return found


def _yaml_below(folder: str) -> Iterator[Path]:
    from strands_cli.yaml_files.document_reader import SUFFIXES

    def refuse(error: OSError) -> None:
        if error.filename == folder:
            raise UsageError(f"{folder} cannot be read: {error.strerror}", fix="correct its permissions") from error
        say(f"warning: {error.filename} is not looked at: {error.strerror}")

    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not _is_skipped(Path(place, name)))
        yield from (Path(place, name) for name in sorted(files) if name.endswith(SUFFIXES) and name[0] != ".")


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _OTHERS or (folder / "pyvenv.cfg").is_file()


def _kind(path: Path) -> Literal["workflow", "agent"] | None:
    from strands_cli.planning.folders.workflow_folder import is_workflow
    from strands_cli.workflow.parts.agent_file import is_agent_file
    from strands_cli.yaml_files.document_reader import read_document

    try:
        document = read_document(path)
    except StrandsCliError as error:
        if _seems_meant(path):
            return "workflow"
        say(f"warning: {path} is not looked at: {error.findings[0].message if error.findings else error.message}")
        return None
    keys = document.value.keys() if isinstance(document.value, dict) else ()
    if is_workflow(document) or "agents" in keys:
        return "workflow"
    return "agent" if is_agent_file(document.value) else None


def _seems_meant(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return _MEANT.search(stream.read(262_144).decode("utf-8", "replace")) is not None
    except OSError:
        return False
