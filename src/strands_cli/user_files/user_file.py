"""Reading a YAML file that a person or an operator keeps: its limits, its keys, and every finding about it."""

from __future__ import annotations

import stat
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, Where, suggest, too_many
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import read_document

VERSION = 1
MAX_BYTES = 1_000_000
# A file with so many mistakes is not read to the end.
MOST_MISTAKES = 100


def open_user_file(path: Path, what: str, code: Code) -> Document:
    """Read a file of at most `MAX_BYTES`.

    Args:
        what: The kind of file in messages, such as `policy file`.
        code: The code of the finding if it cannot be read.

    Raises:
        InvalidInput: It is missing, no file, too large, or not a YAML document.
    """
    reason, fix = None, f"correct it, or remove it if it is not needed: {path}"
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            reason = "it is not a file"
        elif found.st_size > MAX_BYTES:
            reason = f"it is larger than {MAX_BYTES:,} bytes"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fix = "check the path and its permissions"
    if reason is not None:
        message = f"the {what} cannot be read: {reason}"
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

    def _mapping(self, keys: Sequence[str], what: str, form: str) -> dict[str, Any] | None:
        """Return the document, with its keys and its version checked; None if it is not a mapping."""
        value = self._document.value
        if not isinstance(value, dict):
            self.report("", f"{what} is a mapping with {form}")
            return None
        self.check_keys("", value, keys, what)
        if "version" not in value:
            self.report("", "the key `version` is missing", f"add: version: {VERSION}")
        elif type(value["version"]) is not int or value["version"] != VERSION:
            self.report("/version", f"this version reads `version: {VERSION}`, not {value['version']!r}")
        return value

    def check_keys(self, pointer: str, value: dict[str, Any], known: Sequence[str], what: str) -> None:
        """Report each key of a mapping that is not known; `what` is the mapping in messages, such as `a target`."""
        for key in value:
            if key not in known:
                fix = suggest(key, known, f"it has: {', '.join(known)}")
                self.report(f"{pointer}/{escape(key)}", f"{what} has no key {key!r}", fix, key=True)

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
