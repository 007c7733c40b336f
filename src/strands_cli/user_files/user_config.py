"""The user's config file: opened once for each part of it that is read, and refused with every finding."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, Where
from strands_cli.system.file_owners import own_users, who_else_writes
from strands_cli.user_files.user_file import UserFileReader, open_user_file, with_code
from strands_cli.yaml_files.document import Document

BAD_CONFIG = Code(
    "bad-config",
    "The user's config file cannot be read, or is not valid; no run starts until it is corrected.",
    "Correct the error at the reported place; see `strands explain notifications`.",
)
UNSAFE_CONFIG_FILE = Code(
    "unsafe-config-file",
    "Other users can change the user's config file, which names programs to run.",
    "Give the file and its folder to the right owner, and remove the write permission of others.",
)

KEYS = ("version", "notify", "indexes", "store")


def open_config(path: Path | None) -> Document | None:
    """Return the document of a config file; None where there is no file, which costs one look.

    Raises:
        InvalidInput: It cannot be read, or others can change it.
    """
    if path is None or not os.path.lexists(path):
        return None
    findings = check_owners(path)
    try:
        document = open_user_file(path, "config file", BAD_CONFIG)
    except StrandsCliError as error:
        found = [with_code(finding, BAD_CONFIG) for finding in error.findings]
        raise _refused(path, [*findings, *found]) from error
    if findings:
        raise _refused(path, findings)
    return document


def check_owners(path: Path) -> list[Finding]:
    """Return a finding if other users can change the file or replace it."""
    for place in (path, path.parent):
        if reason := who_else_writes(place, own_users()):
            what = "the config file" if place == path else "the folder of the config file"
            fix = f"chmod o-w {shlex.quote(str(place))}, and chown it if it is not yours"
            return [Finding(UNSAFE_CONFIG_FILE, f"{what} is not safe: {reason}", Where(str(place)), fix)]
    return []


def _refused(path: Path, findings: Sequence[Finding]) -> InvalidInput:
    """Return the error for a config file with findings."""
    count = "a fault" if len(findings) == 1 else f"{len(findings)} faults"
    return InvalidInput(f"nothing runs: the config file {path} has {count}", findings=findings)


class ConfigReader(UserFileReader):
    """Reads one part of the config file; keys of the other parts are known to it."""

    def __init__(self, document: Document, see: str) -> None:
        super().__init__(document, BAD_CONFIG, see)

    def refusal(self) -> InvalidInput:
        """Return the error for a config file with findings."""
        return _refused(Path(self._document.file), self.findings)

    def read_part(self, key: str) -> Any:
        """Return the value of a key at the top; None if it is absent."""
        form = "`version: 1`, and `notify` or `indexes`"
        value = self._mapping(KEYS, "a config file", form)
        return None if value is None else value.get(key)

    def _has(self, key: str) -> bool:
        """Return whether the document has a key at its top."""
        return isinstance(self._document.value, dict) and key in self._document.value
