"""Headers that a workflow sends to a service: what no request can carry, and credentials that others could read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from strands_cli.errors import Code, Finding, Where
from strands_cli.planning.planned_tools.tool_config import secrets_in
from strands_cli.workflow.findings import BAD_VALUE
from strands_cli.yaml_files.document import Document, escape

if TYPE_CHECKING:
    from strands_cli.workflow.steps.tool_entries import HttpExecutor

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
        yield from _check_header(
            owner, (name, value), scheme, host, document.where(f"{pointer}/headers/{escape(name)}")
        )


def check_auth(executor: HttpExecutor, scheme: str, host: str, pointer: str, document: Document) -> Iterator[Finding]:
    """Yield what is wrong with the `auth` of a service; a field that it lacks is a finding of the file."""
    auth, owner = executor.auth, executor.id
    if auth is None or not auth.is_complete:
        return
    name, value = auth.header or ("Authorization", f"{auth.username}:{auth.password}")
    if name.lower() in map(str.lower, executor.headers):
        message = f"the header {name!r} of '{owner}' is in `headers` and is what `auth` sets"
        yield Finding(BAD_VALUE, message, document.where(f"{pointer}/auth"), "remove one of the two")
    if ":" in (auth.username or ""):
        at = document.where(f"{pointer}/auth/username")
        yield Finding(BAD_VALUE, "a user name with a colon cannot be sent with a password", at, "leave out the colon")
    credential, at = auth.fields[-1], document.where(f"{pointer}/auth/{auth.fields[-1]}")
    yield from _check_header(owner, (name, value), scheme, host, at)
    is_named = bool(secrets_in(getattr(auth, credential)))
    if not is_named and (secrets_in(value) or name.lower() not in _CREDENTIALS):
        yield _plain(name, owner, at)


def _check_header(owner: str, header: tuple[str, str], scheme: str, host: str, at: Where) -> Iterator[Finding]:
    name, value = header
    if not _HEADER.fullmatch(name) or name.lower() in _CLOSED:
        yield Finding(BAD_VALUE, f"{name!r} is not a header that '{owner}' can set", at, "leave it out")
    if not value.isascii() or not value.isprintable():
        yield Finding(BAD_VALUE, f"the header {name!r} of '{owner}' is not printable ASCII", at, "correct it")
    if name.lower() in _CREDENTIALS and value and "${" not in value:
        yield _plain(name, owner, at)
    if scheme == "http" and secrets_in(value) and not is_this_machine(host):
        message = f"the header {name!r} of '{owner}' would carry a secret over plain http"
        yield Finding(BAD_VALUE, message, at, "take an https:// address")


def _plain(name: str, owner: str, at: Where) -> Finding:
    message = f"the header {name!r} of '{owner}' is written in the workflow"
    fix = "declare the value under `env.secrets` and write ${secrets.NAME}"
    return Finding(PLAIN_CREDENTIAL, message, at, fix, "warning")
