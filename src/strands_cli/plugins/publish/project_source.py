"""The source tree of a distribution that is to be published, of whatever kind its plugins are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.canonical_json import json_object
from strands_cli.catalog.distributions import GROUP as TOOLS
from strands_cli.catalog.packaged import GROUPS
from strands_cli.errors import Code, Finding, InvalidInput, Where
from strands_cli.hooks import GROUP as HOOKS

if TYPE_CHECKING:
    from packaging.metadata import RawMetadata

NOT_A_PROJECT = Code(
    "not-a-project",
    "A folder has no pyproject.toml that can be read, so it cannot be published.",
    "Name the folder of the project: strands plugin publish --check DIR",
)

# Entry-point group -> the word for its members.
KINDS: dict[str, str] = {
    TOOLS: "tool",
    HOOKS: "hook plugin",
    **GROUPS,
}
_MAX_BYTES = 1_000_000


class ProjectSource:
    """A project's directory and its `pyproject.toml`.

    Attributes:
        directory: The directory, absolute.
        file: The path of `pyproject.toml`, as the person named it.
        settings: The whole `pyproject.toml`.
    """

    def __init__(self, directory: Path, text: str, settings: Mapping[str, Any]) -> None:
        self.directory = directory.resolve()
        self.file = str(directory / "pyproject.toml")
        self.settings = settings
        self._lines = text.splitlines()

    @cached_property
    def project(self) -> Mapping[str, Any]:
        """The table `[project]`; empty if there is none, as with a `setup.py`."""
        return json_object(self.settings.get("project"))

    def where(self, key: str = "") -> Where:
        """Return the place of a key of `[project]`, or of the table where the key is missing."""
        head = table = None
        for number, line in enumerate(self._lines, 1):
            if found := re.match(r"\s*\[+([^\]]+)\]", line):
                table = found[1].strip()
                if table == "project":
                    head = number
                elif table.startswith(f"project.{key}") and key:
                    return Where(self.file, number)
            elif table == "project" and key and re.match(rf'\s*"?{re.escape(key)}"?\s*[=.]', line):
                return Where(self.file, number)
        return Where(self.file, head)

    def members(self) -> dict[str, dict[str, str]]:
        """Return the entry points of each group of ours: group -> name -> value."""
        groups = json_object(self.project.get("entry-points"))
        return {group: found for group in KINDS if (found := _texts(groups.get(group)))}

    def as_metadata(self) -> RawMetadata:
        """Return what `[project]` says of itself, in the form of a wheel's metadata."""
        project, raw = self.project, {"metadata_version": "2.4"}
        plain = {"name": "name", "version": "version", "summary": "description", "requires_python": "requires-python"}
        raw.update({field: project[key] for field, key in plain.items() if isinstance(project.get(key), str)})
        if isinstance(project.get("license"), str):
            raw["license_expression"] = project["license"]
        for field, key in {"classifiers": "classifiers", "requires_dist": "dependencies"}.items():
            raw[field] = [one for one in project.get(key, ()) if isinstance(one, str)]  # type: ignore[assignment]
        raw["project_urls"] = _texts(project.get("urls"))  # type: ignore[assignment]
        readme = project.get("readme")
        if isinstance(readme, str):
            raw |= self._readme(readme)
        return raw  # type: ignore[return-value]

    def _readme(self, name: str) -> dict[str, str]:
        types = {".md": "text/markdown", ".rst": "text/x-rst", ".txt": "text/plain"}
        kind = types.get(Path(name).suffix.lower(), "text/plain")
        file = self.directory / name
        try:
            if not file.is_file():
                return {}
            with file.open("rb") as opened:
                text = opened.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return {}
        return {"description": text, "description_content_type": kind}


def read_source(directory: Path) -> ProjectSource:
    """Read a project's `pyproject.toml`.

    Raises:
        InvalidInput: It is missing, too large, or not TOML.
    """
    import tomllib

    file = directory / "pyproject.toml"
    try:
        # A pipe would be waited for.
        if file.exists() and not file.is_file():
            raise ValueError("it is not a file")
        with file.open("rb") as opened:
            raw = opened.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES:,} bytes")
        text = raw.decode("utf-8")
        settings = tomllib.loads(text)
    except FileNotFoundError:
        fix = "write pyproject.toml with [build-system] and [project]" if (directory / "setup.py").is_file() else None
        raise _not_a_project(f"{directory} has no pyproject.toml", fix) from None
    except (OSError, ValueError, RecursionError) as error:
        fix = "correct pyproject.toml: without it nothing can be built"
        raise _not_a_project(f"pyproject.toml cannot be read: {error}", fix, file) from None
    return ProjectSource(directory, text, settings)


def _not_a_project(message: str, fix: str | None, file: Path | None = None) -> InvalidInput:
    finding = Finding(NOT_A_PROJECT, message, Where(str(file)) if file else None, fix)
    return InvalidInput("there is no project to publish", findings=[finding])


def _texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in json_object(value).items() if isinstance(text, str)}
