"""Text to settings: the targets of the user's config file, or every finding about it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from strands_cli.errors import suggest
from strands_cli.notifications.targets import OCCASIONS, WHICH, Command, Occasion, Target, Webhook, Which, is_loopback
from strands_cli.secrets.secret_sources import SecretReference
from strands_cli.user_files.user_config import ConfigReader, open_config
from strands_cli.yaml_files.document import Document

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
    document = open_config(path)
    if document is None:
        return ()
    reader = _Reader(document)
    targets = tuple(reader.read())
    if reader.findings:
        raise reader.refusal()
    return targets


class _Reader(ConfigReader):
    """Walks the document once and collects findings on the way."""

    def __init__(self, document: Document) -> None:
        super().__init__(document, _SEE)
        self._folder = Path(document.file).parent

    def read(self) -> Iterator[Target]:
        notify = self.read_part("notify")
        if isinstance(notify, dict):
            yield from self._targets("/notify", notify)
        elif isinstance(notify, list):
            for index, one in enumerate(notify):
                yield from self._targets(f"/notify/{index}", one)
        elif self._has("notify"):
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
