"""The user's config file: opened once for each part to read, and refused with every finding."""

from __future__ import annotations

import os
import re
import shlex
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from strands_cli.config import user_config_file
from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, UsageError, Where, suggest, too_many
from strands_cli.secrets.redactor import Redactor, hide_in_output
from strands_cli.secrets.secret_sources import SecretFault, SecretReference, read_secret
from strands_cli.user_files.own_files import exposed_place
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import read_document

# Reading a YAML file that a person or an operator keeps: its limits, its keys, and every finding about it.


VERSION = 1
MAX_BYTES = 1_000_000
# A file with so many mistakes is not read to the end.
MOST_MISTAKES = 100


def open_user_file(path: Path, kind: str, code: Code) -> Document:
    """Read a file of at most `MAX_BYTES`.

    Args:
        kind: The kind of file in messages, such as `policy file`.
        code: The code of the finding if it cannot be read.

    Raises:
        InvalidInput: It is missing, no file, too large, or not a YAML document.
    """
    reason, fix = None, f"correct it, or remove it if it is not needed: {path}"
    try:
        file_stat = path.stat()
        if not stat.S_ISREG(file_stat.st_mode):
            reason = "it is not a file"
        elif file_stat.st_size > MAX_BYTES:
            reason = f"it is larger than {MAX_BYTES:,} bytes"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fix = "check the path and its permissions"
    if reason is not None:
        message = f"the {kind} cannot be read: {reason}"
        raise InvalidInput(message, findings=[Finding(code, message, Where(str(path)), fix)])
    return read_document(path)


def with_code(finding: Finding, code: Code) -> Finding:
    """Return a finding of the YAML reader as one about this kind of file."""
    if finding.code == code:
        return finding
    return Finding(code, f"{finding.message} ({finding.code})", finding.where, finding.fix)


class UserFileReader(ABC):
    """Walks a document once and collects findings on the way; a subclass knows the keys.

    Raises:
        StrandsCliError: `refusal`, at the last of very many findings.
    """

    def __init__(self, document: Document, code: Code, see: str) -> None:
        self._document = document
        self._code = code
        self._see = see
        self.findings: list[Finding] = [with_code(finding, code) for finding in document.findings]

    @abstractmethod
    def refusal(self) -> StrandsCliError:
        """Return the error for a file with findings."""

    def _mapping(self, keys: Sequence[str], kind: str, form: str) -> dict[str, Any] | None:
        """Return the document, with its keys and its version checked; None if it is not a mapping."""
        value = self._document.value
        if not isinstance(value, dict):
            self.report("", f"{kind} is a mapping with {form}")
            return None
        self.check_keys("", value, keys, kind)
        if "version" not in value:
            self.report("", "the key `version` is missing", f"add: version: {VERSION}")
        elif type(value["version"]) is not int or value["version"] != VERSION:
            self.report("/version", f"this version reads `version: {VERSION}`, not {value['version']!r}")
        return value

    def check_keys(self, pointer: str, value: dict[str, Any], known_keys: Sequence[str], kind: str) -> None:
        """Report each key of a mapping that is not known; `kind` is the mapping in messages, such as `a target`."""
        for key in value:
            if key not in known_keys:
                fix = suggest(key, known_keys, f"it has: {', '.join(known_keys)}")
                self.report(f"{pointer}/{escape(key)}", f"{kind} has no key {key!r}", fix, key=True)

    def report(self, pointer: str, message: str, fix: str | None = None, *, key: bool = False) -> None:
        """Add a finding about a place.

        Args:
            pointer: The place as a JSON pointer.
            key: Whether the key is meant, not its value.
        """
        where = self._document.where(pointer, key=key)
        self.findings.append(Finding(self._code, message, where, fix or self._see))
        if len(self.findings) >= MOST_MISTAKES:
            rest = too_many("there may be more mistakes, which are not looked for", self._document.where(""))
            self.findings.append(with_code(rest, self._code))
            raise self.refusal()


BAD_CONFIG = Code(
    "bad-config",
    "The user's config file cannot be read or is not valid; no run starts.",
    "Correct it: strands explain notifications.",
)
UNSAFE_CONFIG_FILE = Code(
    "unsafe-config-file",
    "Other users can change the user's config file, which names programs to run.",
    "Give the file and its folder the right owner, and no write permission for others.",
)

KEYS = ("version", "notify", "indexes", "store")
# The sources of a secret that take no time and ask no person, each with the key of its place.
SOURCES = {"env": "key", "file": "path"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ConfigPart(UserFileReader):
    """One key of the user's config file with its value, and the mistakes in it.

    Attributes:
        value: The value of the key; None if it is absent.
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
        document = open_safe_file(path or user_config_file(os.environ), "config file")
        return None if document is None else cls(document, key, f"see: strands explain {page}")

    def refusal(self) -> InvalidInput:
        """Return the error for a config file with findings."""
        return refused_file("config file", Path(self._document.file), self.findings)

    def require_valid(self) -> None:
        """Check that no mistake was reported.

        Raises:
            InvalidInput: There are mistakes, each with its place.
        """
        if self.findings:
            raise self.refusal()

    def word(self, pointer: str, value: Any, known_words: Sequence[str]) -> str:
        """Return a value as text; report an unknown word."""
        if not isinstance(value, str) or value not in known_words:
            fix = suggest(str(value), known_words, f"there are: {', '.join(known_words)}")
            self.report(pointer, f"{value!r} is none of {', '.join(known_words)}", fix)
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
        source_key = SOURCES.get(source)
        if source_key is None:
            return None
        self.check_keys(pointer, value, ("source", source_key), f"a secret of the source '{source}'")
        text = value.get(source_key)
        if not isinstance(text, str) or not text.strip() or (source == "env" and not _VARIABLE.fullmatch(text)):
            expected = "the name of a variable" if source_key == "key" else "the path of a file"
            self.report(f"{pointer}/{source_key}", f"`{source_key}` is {expected}, {example}")
            return None
        key, path = (text, "") if source_key == "key" else (name, text)
        reference = SecretReference(name, key, source, path, self.folder)
        return lambda: _value_of(reference)


def _value_of(secret: SecretReference) -> str:
    try:
        value = read_secret(secret, os.environ)
    except SecretFault as error:
        raise UsageError(str(error), fix=error.fix) from None
    hide_in_output(Redactor([value.strip()]))
    return value


def open_safe_file(path: Path | None, what: str) -> Document | None:
    """Return a settings file of this user as a document; None where there is none, for which this only looks.

    Args:
        what: The kind of file in messages, such as `config file`.

    Raises:
        InvalidInput: It cannot be read, or others can change it.
    """
    if path is None or not os.path.lexists(path):
        return None
    findings = _unsafe(path, what)
    try:
        document = open_user_file(path, what, BAD_CONFIG)
    except StrandsCliError as error:
        unread = [with_code(finding, BAD_CONFIG) for finding in error.findings]
        raise refused_file(what, path, [*findings, *unread]) from error
    if findings:
        raise refused_file(what, path, findings)
    return document


def _unsafe(path: Path, what: str) -> list[Finding]:
    """Return a finding if other users can change the file or replace it."""
    if (exposed := exposed_place(path)) is None:
        return []
    place, reason = exposed
    which = f"the {what}" if place == path else f"the folder of the {what}"
    fix = f"chmod o-w {shlex.quote(str(place))}, and chown it if it is not yours"
    return [Finding(UNSAFE_CONFIG_FILE, f"{which} is not safe: {reason}", Where(str(place)), fix)]


def refused_file(what: str, path: Path, findings: Iterable[Finding]) -> InvalidInput:
    """Return the error for a settings file with findings."""
    every = list(findings)
    count = "a fault" if len(every) == 1 else f"{len(every)} faults"
    return InvalidInput(f"nothing runs: the {what} {path} has {count}", findings=every)
