"""Writes a new YAML file to start from, and beside it the schema for editors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from strands_cli.errors import ArtifactError, UsageError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def require_name(name: str, what: str) -> None:
    """Check that a name can be that of `what` and of its file.

    Raises:
        UsageError: It cannot.
    """
    if not _NAME.fullmatch(name):
        fix = "begin with a letter; then letters, digits, '_' and '-'"
        raise UsageError(f"{name!r} cannot be the name of {what}", fix=fix)


def write_new(
    files: Mapping[str, str], directory: Path, schema: tuple[str, Callable[[], dict[str, Any]]], *, force: bool
) -> list[Path]:
    """Write files and their schema, and return their paths; a schema that exists stays unchanged.

    Args:
        files: Name -> text.
        directory: Their directory; it is created.
        schema: The name of the schema's file, and a function that returns the schema.
        force: Whether files that exist are overwritten.

    Raises:
        ArtifactError: One exists and `force` is false, or cannot be written.
    """
    texts = {directory / name: text for name, text in files.items()}
    if existing := [str(path) for path in texts if path.exists() and not force]:
        message = f"{' and '.join(existing)} {'exist' if existing[1:] else 'exists'}"
        raise ArtifactError(message, fix="choose another name, or overwrite with --force")
    name, make = schema
    if not (directory / name).exists():
        texts[directory / name] = json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        message = f"{error.filename or directory} cannot be written: {error.strerror}"
        raise ArtifactError(message, fix="correct its permissions, or choose another directory") from error
    return list(texts)
