"""Writes the directory of a new project as a whole, or not at all, and fills its templates."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from strands_cli.api import UsageError, hidden_characters

# The file with which CI checks and publishes a project.
CI_FILE = ".github/workflows/publish.yml"
_LONGEST = 100
_TOKEN = re.compile(r"\{\{([a-z]+)\}\}")


def make_project(
    target: Path, files: Mapping[str, str], complete: Callable[[Path], object] = lambda draft: None
) -> Path:
    """Write a new project and return its directory; where that fails, nothing remains.

    Args:
        target: The directory, which must not exist.
        files: Relative path -> text.
        complete: Writes the files made from the others.

    Raises:
        UsageError: The directory exists, or cannot be made.
    """
    parent = target.parent
    if os.path.lexists(target):
        raise UsageError(f"{target} exists; nothing is overwritten", fix="choose another name or --directory")
    try:
        parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=parent))
    except OSError as error:
        raise UsageError(f"{parent} cannot be written to: {error.strerror}", fix="choose another --directory") from None
    try:
        for path, text in files.items():
            file = draft / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        complete(draft)
        draft.chmod(0o777 & ~_umask())  # a temporary directory is private to its owner
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def filled(template: str, words: Mapping[str, str]) -> str:
    """Return a template with its words; `{{ name }}` with spaces belongs to workflows, and stays."""
    from importlib.resources import files

    text = files("strands_cli_dev.plugin_new").joinpath("templates", f"{template}.txt").read_text(encoding="utf-8")
    return _TOKEN.sub(lambda match: words[match[1]], text)


def author_of(author: str | None, distribution: str) -> str:
    """Return the author as TOML text.

    Raises:
        UsageError: The name is not a line of text.
    """
    name = author or f"The {distribution} authors"
    if hidden_characters(name) or not name.strip() or "\n" in name or "\t" in name:
        raise UsageError("--author is not a line of text", fix="write --author 'Jo Doe'")
    return json.dumps(name, ensure_ascii=False)


def descriptions(text: str, kind: str) -> dict[str, str]:
    """Return a description in the forms of the templates.

    Args:
        text: A sentence.
        kind: The content of the distribution, for its metadata: `a tool for Strands agents`.

    Raises:
        UsageError: It is not a plain sentence.
    """
    text = " ".join(text.split(" ")).strip()
    if not text or hidden_characters(text) or set(text) & set('"\\\n\t') or len(text) > _LONGEST:
        fix = "write --description 'Tell the weather of a city.'"
        raise UsageError(f"--description is not a plain sentence of at most {_LONGEST} characters", fix=fix)
    sentence = text if text[-1] in ".!?" else f"{text}."
    summary = sentence.rstrip(".")
    metadata = json.dumps(f"{summary}: {kind}", ensure_ascii=False)
    quoted = json.dumps(sentence, ensure_ascii=False)
    lowered = sentence[0].lower() + sentence[1:]
    return {"description": sentence, "summary": summary, "metadata": metadata, "quoted": quoted, "lowered": lowered}


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
