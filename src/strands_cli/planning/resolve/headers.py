"""Headers that a workflow sends to a service: what no request can carry, and credentials that others could read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from strands_cli.errors import Code, Finding
from strands_cli.planning.planned_tools import secrets_in
from strands_cli.workflow import BAD_VALUE
from strands_cli.workflow.yaml import Document, escape

PLAIN_CREDENTIAL = Code(
    "plain-credential",
    "A header that usually carries a credential has its value in the workflow, where every reader sees it.",
    "Declare the value under `env.secrets`, and write `${secrets.NAME}` in its place.",
)

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The connection is the client's affair.
_CLOSED = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_CREDENTIALS = frozenset({"authorization", "cookie", "x-api-key", "api-key", "x-auth-token"})
_THIS_MACHINE = re.compile(r"localhost|127\.\d+\.\d+\.\d+|\[::1\]")


def is_this_machine(host: str) -> bool:
    """Return whether nothing sent to a host leaves this machine."""
    return _THIS_MACHINE.fullmatch(host.lower()) is not None


def check_headers(
    owner: str, headers: Mapping[str, str], scheme: str, host: str, pointer: str, document: Document
) -> Iterator[Finding]:
    """Yield what is wrong with the headers of a service."""
    for name, value in headers.items():
        at = document.where(f"{pointer}/headers/{escape(name)}")
        if not _HEADER.fullmatch(name) or name.lower() in _CLOSED:
            yield Finding(BAD_VALUE, f"{name!r} is not a header that '{owner}' can set", at, "leave it out")
        if not value.isascii() or not value.isprintable():
            yield Finding(BAD_VALUE, f"the header {name!r} of '{owner}' is not printable ASCII", at, "correct it")
        if name.lower() in _CREDENTIALS and value and not secrets_in(value):
            message = f"the header {name!r} of '{owner}' is written in the workflow"
            fix = "declare the value under `env.secrets` and write ${secrets.NAME}"
            yield Finding(PLAIN_CREDENTIAL, message, at, fix, "warning")
        if scheme == "http" and secrets_in(value) and not is_this_machine(host):
            message = f"the header {name!r} of '{owner}' would carry a secret over plain http"
            yield Finding(BAD_VALUE, message, at, "take an https:// address")
