"""The user's config file: opened once for each part of it that is read, and refused with every finding."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from strands_cli.config import user_config_file
from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, UsageError, Where, suggest
from strands_cli.secrets.process_streams import hide_in_output
from strands_cli.secrets.redactor import Redactor
from strands_cli.secrets.secret_sources import SecretFault, SecretReference, read_secret
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
# The sources of a secret that take no time and ask no person, each with the key of its place.
SOURCES = {"env": "key", "file": "path"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ConfigPart(UserFileReader):
    """One key of the user's config file with its value, and the mistakes in it.

    Attributes:
        value: What the key has; None if it is absent.
        folder: That of the file, where relative paths begin.
    """

    def __init__(self, document: Document, key: str, see: str) -> None:
        super().__init__(document, BAD_CONFIG, see)
        self.folder = Path(document.file).parent
        whole = self._mapping(KEYS, "a config file", "`version: 1`, and `notify` or `indexes`")
        self.value: Any = None if whole is None else whole.get(key)

    @classmethod
    def read(cls, key: str, page: str, path: Path | None = None) -> Self | None:
        """Return a part of a file; None without the file, for which this only looks.

        Args:
            page: The page of `strands explain` that describes it.
            path: The file; that of this user by default.

        Raises:
            InvalidInput: It cannot be read, or others can change it.
        """
        document = _open_config(path or user_config_file(os.environ))
        return None if document is None else cls(document, key, f"see: strands explain {page}")

    def refusal(self) -> InvalidInput:
        """Return the error for a config file with findings."""
        return _refused(Path(self._document.file), self.findings)

    def require_valid(self) -> None:
        """Check that no mistake was reported.

        Raises:
            InvalidInput: There are mistakes, each with its place.
        """
        if self.findings:
            raise self.refusal()

    def word(self, pointer: str, value: Any, known: Sequence[str]) -> str:
        """Return a value as text; report one that is none of the known words."""
        if not isinstance(value, str) or value not in known:
            fix = suggest(str(value), known, f"there are: {', '.join(known)}")
            self.report(pointer, f"{value!r} is none of {', '.join(known)}", fix)
        return str(value)

    def secret(self, pointer: str, value: Any, name: str) -> Callable[[], str] | None:
        """Return a function that reads a secret to which the file refers; report a value in its place.

        The function raises `UsageError` where the secret has no value, and hides the value in all output.

        Args:
            name: How errors call the secret.
        """
        example = "such as `{source: env, key: WEBHOOK_SECRET}` or `{source: file, path: webhook.key}`"
        if not isinstance(value, dict):
            has = f"a {name} needs a `secret`" if value is None else "`secret` is a reference, not the value itself"
            self.report(pointer, f"{has}, {example}")
            return None
        source = self.word(f"{pointer}/source", value.get("source", "env"), tuple(SOURCES))
        place = SOURCES.get(source)
        if place is None:
            return None
        self.check_keys(pointer, value, ("source", place), f"a secret of the source '{source}'")
        text = value.get(place)
        if not isinstance(text, str) or not text.strip() or (source == "env" and not _VARIABLE.fullmatch(text)):
            what = "the name of a variable" if place == "key" else "the path of a file"
            self.report(f"{pointer}/{place}", f"`{place}` is {what}, {example}")
            return None
        key, path = (text, "") if place == "key" else (name, text)
        reference = SecretReference(name, key, source, path, self.folder)
        return lambda: _value_of(reference)


def _value_of(secret: SecretReference) -> str:
    try:
        value = read_secret(secret, os.environ)
    except SecretFault as error:
        raise UsageError(str(error), fix=error.fix) from None
    hide_in_output(Redactor([value.strip()]))
    return value


def _open_config(path: Path | None) -> Document | None:
    if path is None or not os.path.lexists(path):
        return None
    findings = _unsafe(path)
    try:
        document = open_user_file(path, "config file", BAD_CONFIG)
    except StrandsCliError as error:
        found = [with_code(finding, BAD_CONFIG) for finding in error.findings]
        raise _refused(path, [*findings, *found]) from error
    if findings:
        raise _refused(path, findings)
    return document


def _unsafe(path: Path) -> list[Finding]:
    """Return a finding if other users can change the file or replace it."""
    for place in (path, path.parent):
        if reason := who_else_writes(place, own_users()):
            what = "the config file" if place == path else "the folder of the config file"
            fix = f"chmod o-w {shlex.quote(str(place))}, and chown it if it is not yours"
            return [Finding(UNSAFE_CONFIG_FILE, f"{what} is not safe: {reason}", Where(str(place)), fix)]
    return []


def _refused(path: Path, findings: Iterable[Finding]) -> InvalidInput:
    """Return the error for a config file with findings."""
    every = list(findings)
    count = "a fault" if len(every) == 1 else f"{len(every)} faults"
    return InvalidInput(f"nothing runs: the config file {path} has {count}", findings=every)
