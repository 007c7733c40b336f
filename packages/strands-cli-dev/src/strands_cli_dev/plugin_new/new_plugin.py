"""Makes a new plugin distribution from templates; its tests pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.api import Manifest
from strands_cli_dev.plugin_check.manifests import render, write_manifests
from strands_cli_dev.plugin_check.plugin_project import read_project
from strands_cli_dev.plugin_new.plugin_name import MEMBER, PluginName
from strands_cli_dev.plugin_new.project_directory import CI_FILE, author_of, descriptions, filled, make_project

FORMS = ("module", "function", "agent_tool", "class", "provider")
# The forms with one tool of the plugin's name.
_SINGLE = ("module", "function", "agent_tool")
PURPOSE = "Answer the text that it gets."
SAMPLE = {"text": "hello"}


@dataclass(frozen=True, slots=True)
class NewPlugin:
    """The choices for a new plugin.

    Attributes:
        name: Its names.
        form: One of `FORMS`.
        author: The author in its metadata.
        description: The purpose of its tool, in a sentence.
    """

    name: PluginName
    form: str = "module"
    author: str | None = None
    description: str | None = None

    @property
    def entry(self) -> str:
        """The value of its entry point."""
        module = f"{self.name.package}.{self.name.tool}"
        attribute = {
            "function": self.name.tool,
            "agent_tool": f"{self.name.title}Tool",
            "class": f"{self.name.title}Tools",
            "provider": "provide",
        }
        return f"{module}:{attribute[self.form]}" if self.form in attribute else module

    @property
    def call(self) -> str:
        """The tool's name for the model."""
        return self.name.tool if self.form in _SINGLE else MEMBER

    @property
    def ref(self) -> str:
        """The reference in a workflow: `native:foo`, or one member of a class or provider."""
        member = "" if self.form in _SINGLE else f".{self.call}"
        return f"native:{self.name.tool}{member}"


def make_plugin(new: NewPlugin, parent: Path) -> Path:
    """Write the plugin's directory and return it; where that fails, nothing remains.

    Raises:
        UsageError: The directory exists, cannot be made, or the author's name is not a line of text.
    """
    files = plugin_files(new)
    return make_project(parent / new.name.distribution, files, lambda draft: write_manifests(read_project(draft)))


def plugin_files(new: NewPlugin) -> dict[str, str]:
    """Return the files of a new plugin by relative path; the manifest lacks the fields made from the code.

    Raises:
        UsageError: The author's name is not a line of text.
    """
    tool, package = new.name.tool, f"src/{new.name.package}"
    words = _words(new)
    example = filled("example.yaml", words)
    all_words = {
        **words,
        "example": example,
        "import": _import(new),
        "test": filled(f"{new.form}/test.py", words).rstrip(),
    }
    return {
        CI_FILE: filled("publish.yml", all_words),
        ".gitignore": filled("gitignore", all_words),
        "LICENSE": filled("LICENSE", all_words),
        "README.md": filled("README.md", all_words),
        "pyproject.toml": filled("pyproject.toml", all_words),
        f"{package}/__init__.py": filled("init.py", all_words),
        f"{package}/{tool}.py": filled(f"{new.form}/tool.py", all_words),
        f"{package}/py.typed": "",
        f"{package}/{Manifest.FILE_NAME}": render(_authored(new)),
        f"examples/{tool}.yaml": example,
        f"examples/{tool}.recording.yaml": filled("recording.yaml", all_words),
        f"tests/test_{tool}.py": filled("test.py", all_words),
    }


def _words(new: NewPlugin) -> dict[str, str]:
    return {
        "tool": new.name.tool,
        "distribution": new.name.distribution,
        "package": new.name.package,
        "title": new.name.title,
        "class": f"{new.name.title}Tools",
        "entry": new.entry,
        "call": new.call,
        "ref": new.ref,
        "author": author_of(new.author, new.name.distribution),
        **descriptions(PURPOSE if new.description is None else new.description, "a tool for Strands agents"),
        "dependencies": filled("module/dependencies" if new.form == "module" else "dependencies", {}).rstrip(),
    }


def _import(new: NewPlugin) -> str:
    names = {"module": new.name.tool, "function": new.name.tool, "class": f"{new.name.title}Tools"}
    names["agent_tool"] = f"{new.name.title}Tool"
    return f"from {new.name.package}.{new.name.tool} import {names.get(new.form, f'{new.call}, provide')}"


def _authored(new: NewPlugin) -> dict[str, Any]:
    """Return the part of the manifest that the code does not contain."""
    tool: dict[str, Any] = {"name": new.call, "entry": new.entry}
    if new.form == "class":
        properties = {"prefix": {"type": "string"}}
        tool["config_schema"] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"tools": [{**tool, "examples": [{"input": SAMPLE}]}]}
