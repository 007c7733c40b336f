"""The code in the folder of a workflow that the words of a command name, by its content."""

# Strings and os.path, as the uses beside it have them.
# ruff: noqa: PTH113, PTH118, PTH122
from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from strands_cli.planning.data_flow.authority import is_outside

_SUFFIXES = frozenset(
    {".bat", ".cjs", ".cmd", ".jar", ".js", ".mjs", ".php", ".pl", ".ps1", ".py", ".pyz", ".rb", ".sh", ".ts", ".wasm"}
)


def code_named_in(command: str, folder: Path) -> list[str]:
    """Return the files of code in a folder that a command names, each with its digest.

    A word names a file, as `./run` and `server.py`, or a module, as in `python -m server`; so do the words inside a
    word, as in `sh -c './run now'`. A file is code if its suffix says so or it may be executed: data may change.
    """
    from strands_cli.catalog.installed_files import digest_of_file

    found = {os.path.relpath(file, folder): file for word in _words(command) for file in _files(word, folder)}
    return [f"{name.replace(os.sep, '/')} {digest_of_file(file)}" for name, file in sorted(found.items())]


def _words(command: str) -> set[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    return {*words, *command.split(), *(part.strip("'\";&|()") for word in words for part in word.split())}


def _files(word: str, folder: Path) -> Iterator[str]:
    for name in (word, word.replace(".", os.sep) + ".py", os.path.join(word.replace(".", os.sep), "__main__.py")):
        path = os.path.join(os.path.realpath(folder), name)
        if "\0" not in name and _is_code(path) and not is_outside(os.path.realpath(path), folder):
            yield path


def _is_code(path: str) -> bool:
    return os.path.isfile(path) and (os.path.splitext(path)[1].lower() in _SUFFIXES or os.access(path, os.X_OK))
