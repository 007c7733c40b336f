"""Text to settings: the targets of the user's config file, or every finding about it."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, Where, suggest
from strands_cli.file_owners import own_users, who_else_writes
from strands_cli.notifications.targets import OCCASIONS, WHICH, Command, Occasion, Target, Webhook, Which, is_loopback
from strands_cli.secrets import SecretReference
from strands_cli.workflow.yaml import Document, escape, read_document

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

VERSION = 1
MAX_BYTES = 1_000_000
KEYS = ("version", "notify")
TARGET_KEYS = ("command", "webhook", "on", "runs")
WEBHOOK_KEYS = ("url", "secret")
# The sources of a secret that take no time, and ask no person.
SOURCES = {"env": "key", "file": "path"}
_SEE = "see: strands explain notifications"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_targets(path: Path | None) -> tuple[Target, ...]:
    """Return the targets of a config file; none where there is no file, which costs one look.

    Raises:
        InvalidInput: It cannot be read, anything in it is wrong, or others can change it.
    """
    if path is None or not os.path.lexists(path):
        return ()
    findings = check_owners(path)
    try:
        document = _read(path)
    except StrandsCliError as error:
        raise _refused(path, [*findings, *map(_as_bad_config, error.findings)]) from error
    reader = _Reader(document)
    targets = tuple(reader.read())
    if findings or reader.findings:
        raise _refused(path, [*findings, *reader.findings])
    return targets


def check_owners(path: Path) -> list[Finding]:
    """Return a finding if other users can change the file or replace it."""
    for place in (path, path.parent):
        if reason := who_else_writes(place, own_users()):
            what = "the config file" if place == path else "the folder of the config file"
            fix = f"chmod o-w {shlex.quote(str(place))}, and chown it if it is not yours"
            return [Finding(UNSAFE_CONFIG_FILE, f"{what} is not safe: {reason}", Where(str(place)), fix)]
    return []


def _read(path: Path) -> Document:
    reason = None
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            reason = "it is not a file"
        elif found.st_size > MAX_BYTES:
            reason = f"it is larger than {MAX_BYTES:,} bytes"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason is not None:
        message, fix = f"the config file cannot be read: {reason}", "correct it, or remove it if it is not needed"
        raise InvalidInput(message, findings=[Finding(BAD_CONFIG, message, Where(str(path)), fix)])
    return read_document(path)


def _as_bad_config(finding: Finding) -> Finding:
    if finding.code == BAD_CONFIG:
        return finding
    return Finding(BAD_CONFIG, f"{finding.message} ({finding.code})", finding.where, finding.fix)


def _refused(path: Path, findings: Sequence[Finding]) -> InvalidInput:
    count = "a fault" if len(findings) == 1 else f"{len(findings)} faults"
    return InvalidInput(f"no run starts: the config file {path} has {count}", findings=findings)


class _Reader:
    """Walks the document once and collects findings on the way."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._folder = Path(document.file).parent
        self.findings: list[Finding] = [_as_bad_config(finding) for finding in document.findings]

    def read(self) -> Iterator[Target]:
        value = self._document.value
        if not isinstance(value, dict):
            self._report("", "a config file is a mapping with `version: 1` and `notify`")
            return
        self._check_keys("", value, KEYS, "a config file")
        if "version" not in value:
            self._report("", "the key `version` is missing", "add: version: 1")
        elif type(value["version"]) is not int or value["version"] != VERSION:
            self._report("/version", f"this version reads `version: {VERSION}`, not {value['version']!r}")
        notify = value.get("notify", [])
        if isinstance(notify, dict):
            yield from self._targets("/notify", notify)
        elif isinstance(notify, list):
            for index, one in enumerate(notify):
                yield from self._targets(f"/notify/{index}", one)
        else:
            self._report("/notify", "`notify` is a target or a list of targets, such as `command: [notify-me]`")

    def _targets(self, pointer: str, value: Any) -> Iterator[Target]:
        """Yield the targets of one entry: one for each way to send that it has."""
        if not isinstance(value, dict):
            self._report(pointer, "a target is a mapping such as `command: [notify-me]`")
            return
        self._check_keys(pointer, value, TARGET_KEYS, "a target")
        on = cast("tuple[Occasion, ...]", self._words(f"{pointer}/on", value.get("on", list(OCCASIONS))))
        runs = cast(Which, self._word(f"{pointer}/runs", value.get("runs", "detached"), WHICH))
        ways = [
            self._command(f"{pointer}/command", value["command"]) if "command" in value else None,
            self._webhook(f"{pointer}/webhook", value["webhook"]) if "webhook" in value else None,
        ]
        if "command" not in value and "webhook" not in value and set(value) <= set(TARGET_KEYS):
            self._report(pointer, "a target needs a `command` or a `webhook`")
        yield from (Target(way, on, runs) for way in ways if way is not None)

    def _command(self, pointer: str, value: Any) -> Command | None:
        if not isinstance(value, list) or not value:
            words = _words_of(value)
            fix = f"write it as a list: {json.dumps(words)}" if words else None
            self._report(pointer, "`command` is a list of the program and its arguments; no shell reads it", fix)
            return None
        bad = [index for index, word in enumerate(value) if not isinstance(word, str) or "\0" in word]
        for index in bad:
            self._report(f"{pointer}/{index}", f"{value[index]!r} is not a text", "put it in quotes")
        if not bad and not value[0].strip():
            self._report(f"{pointer}/0", "the program has no name")
        return None if bad or not value[0].strip() else Command(tuple(value), self._folder)

    def _webhook(self, pointer: str, value: Any) -> Webhook | None:
        if not isinstance(value, dict):
            self._report(pointer, "`webhook` is a mapping with `url` and `secret`")
            return None
        self._check_keys(pointer, value, WEBHOOK_KEYS, "a webhook")
        url, secret = value.get("url"), self._secret(f"{pointer}/secret", value.get("secret"))
        if problem := fault_of_url(url):
            self._report(f"{pointer}/url", *problem)
            return None
        return Webhook(cast(str, url), secret) if secret is not None else None

    def _secret(self, pointer: str, value: Any) -> SecretReference | None:
        """Return where the key of the signature is; its value has no place in the file."""
        example = "such as `{source: env, key: WEBHOOK_SECRET}` or `{source: file, path: webhook.key}`"
        if not isinstance(value, dict):
            has = "a webhook needs a `secret`" if value is None else "`secret` is a reference, not the value itself"
            self._report(pointer, f"{has}, {example}")
            return None
        source = self._word(f"{pointer}/source", value.get("source", "env"), tuple(SOURCES))
        place = SOURCES.get(source)
        if place is None:
            return None
        self._check_keys(pointer, value, ("source", place), f"a secret of the source '{source}'")
        text = value.get(place)
        if not isinstance(text, str) or not text.strip() or (source == "env" and not _VARIABLE.fullmatch(text)):
            what = "the name of a variable" if place == "key" else "the path of a file"
            self._report(f"{pointer}/{place}", f"`{place}` is {what}, {example}")
            return None
        key, path = (text, "") if place == "key" else ("webhook", text)
        return SecretReference("webhook", key, source, path, self._folder)

    def _words(self, pointer: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not value:
            self._report(pointer, f"`on` is a list of one or several of {', '.join(OCCASIONS)}")
            return ()
        return tuple(self._word(f"{pointer}/{index}", word, OCCASIONS) for index, word in enumerate(value))

    def _word(self, pointer: str, value: Any, known: Sequence[str]) -> str:
        if not isinstance(value, str) or value not in known:
            fix = suggest(str(value), known, f"there are: {', '.join(known)}")
            self._report(pointer, f"{value!r} is none of {', '.join(known)}", fix)
        return str(value)

    def _check_keys(self, pointer: str, value: dict[str, Any], known: Sequence[str], what: str) -> None:
        for key in value:
            if key not in known:
                fix = suggest(key, known, f"it has: {', '.join(known)}")
                self._report(f"{pointer}/{escape(key)}", f"{what} has no key {key!r}", fix, key=True)

    def _report(self, pointer: str, message: str, fix: str | None = None, *, key: bool = False) -> None:
        where = self._document.where(pointer, key=key)
        self.findings.append(Finding(BAD_CONFIG, message, where, fix or _SEE))


def _words_of(value: Any) -> list[str]:
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def fault_of_url(url: Any) -> tuple[str, str] | None:
    """Return what is wrong with the address of a webhook and how to correct it; None if nothing is."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        host = (parts.hostname or "") if parts else ""
        _ = parts.port if parts else None
    except ValueError:
        parts, host = None, ""
    if parts is None or not host or not url.isascii() or not url.isprintable() or " " in url:
        return "`url` is a whole address", "write it like https://hooks.example.org/strands"
    if parts.username is not None or parts.password is not None:
        return "`url` contains credentials", "remove them; the signature shows who sends"
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        return "a message leaves this machine only by https", "write https://"
    return None
