"""Makes a new plugin distribution from templates; its tests pass."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.catalog.definitions import FILE_NAME
from strands_cli.errors import UsageError
from strands_cli.plugins.check import read_project, render, write_manifests
from strands_cli.plugins.scaffold.plugin_name import MEMBER, PluginName
from strands_cli.unicode_safety import hidden_characters

FORMS = ("module", "function", "agent_tool", "class", "provider")
# The forms with one tool, which has the name of the plugin.
_SINGLE = ("module", "function", "agent_tool")
PURPOSE = "Answer the text that it gets."
SAMPLE = {"text": "hello"}
_LONGEST = 100
_TOKEN = re.compile(r"\{\{([a-z]+)\}\}")


@dataclass(frozen=True, slots=True)
class NewPlugin:
    """The choices for a new plugin.

    Attributes:
        name: Its names.
        form: One of `FORMS`.
        author: The author in its metadata.
        description: What its tool does, in a sentence.
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
        """What a workflow writes: `native:foo`, or one member of a class or provider."""
        member = "" if self.form in _SINGLE else f".{self.call}"
        return f"native:{self.name.tool}{member}"


def make_plugin(new: NewPlugin, parent: Path) -> Path:
    """Write the plugin's directory and return it; where that fails, nothing remains.

    Raises:
        UsageError: The directory exists, cannot be made, or the author's name is not a line of text.
    """
    target = parent / new.name.distribution
    if os.path.lexists(target):
        raise UsageError(f"{target} exists; nothing is overwritten", fix="choose another name or --directory")
    files = plugin_files(new)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{new.name.distribution}-", dir=parent))
    except OSError as error:
        raise UsageError(f"{parent} cannot be written to: {error.strerror}", fix="choose another --directory") from None
    try:
        for path, text in files.items():
            file = draft / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        write_manifests(read_project(draft))
        draft.chmod(0o777 & ~_umask())  # a temporary directory is private to its owner
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def plugin_files(new: NewPlugin) -> dict[str, str]:
    """Return the files of a new plugin by relative path; the manifest lacks what is made from the code.

    Raises:
        UsageError: The author's name is not a line of text.
    """
    tool, package = new.name.tool, f"src/{new.name.package}"
    words = _words(new)
    example = _filled("example.yaml", words)
    all_words = {
        **words,
        "example": example,
        "import": _import(new),
        "test": _filled(f"{new.form}/test.py", words).rstrip(),
    }
    return {
        ".gitignore": _filled("gitignore", all_words),
        "LICENSE": _filled("LICENSE", all_words),
        "README.md": _filled("README.md", all_words),
        "pyproject.toml": _filled("pyproject.toml", all_words),
        f"{package}/__init__.py": _filled("init.py", all_words),
        f"{package}/{tool}.py": _filled(f"{new.form}/tool.py", all_words),
        f"{package}/py.typed": "",
        f"{package}/{FILE_NAME}": render(_authored(new)),
        f"examples/{tool}.yaml": example,
        f"examples/{tool}.recording.yaml": _filled("recording.yaml", all_words),
        f"tests/test_{tool}.py": _filled("test.py", all_words),
    }


def _words(new: NewPlugin) -> dict[str, str]:
    author = new.author or f"The {new.name.distribution} authors"
    if hidden_characters(author) or not author.strip() or "\n" in author or "\t" in author:
        raise UsageError("--author is not a line of text", fix="write --author 'Jo Doe'")
    return {
        "tool": new.name.tool,
        "distribution": new.name.distribution,
        "package": new.name.package,
        "title": new.name.title,
        "class": f"{new.name.title}Tools",
        "entry": new.entry,
        "call": new.call,
        "ref": new.ref,
        "author": json.dumps(author, ensure_ascii=False),
        **_descriptions(new),
        "dependencies": _filled("module/dependencies" if new.form == "module" else "dependencies", {}).rstrip(),
    }


def _descriptions(new: NewPlugin) -> dict[str, str]:
    """Return the description in the forms of the templates."""
    text = " ".join((new.description if new.description is not None else PURPOSE).split(" ")).strip()
    if not text or hidden_characters(text) or set(text) & set('"\\\n\t') or len(text) > _LONGEST:
        fix = "write --description 'Tell the weather of a city.'"
        raise UsageError(f"--description is not a plain sentence of at most {_LONGEST} characters", fix=fix)
    sentence = text if text[-1] in ".!?" else f"{text}."
    summary = sentence.rstrip(".")
    metadata = json.dumps(f"{summary}: a tool for Strands agents", ensure_ascii=False)
    quoted = json.dumps(sentence, ensure_ascii=False)
    lowered = sentence[0].lower() + sentence[1:]
    return {"description": sentence, "summary": summary, "metadata": metadata, "quoted": quoted, "lowered": lowered}


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


def _filled(template: str, words: Mapping[str, str]) -> str:
    from importlib.resources import files

    text = files("strands_cli.plugins.scaffold").joinpath("templates", f"{template}.txt").read_text(encoding="utf-8")
    return _TOKEN.sub(lambda found: words[found[1]], text)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
