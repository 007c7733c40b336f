"""The HTTP executors of a workflow: each is the installed tool `http_executor` with a service of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.manifest import MEMBER_NAME
from strands_cli.catalog.resolution import TOOL_UNMET, UNKNOWN_TOOL
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Code, Finding, Where, has_errors
from strands_cli.planning.planned_tool import InstalledTool, filled_in, secrets_in
from strands_cli.planning.resolve.resolve_context import ResolveContext
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.workflow.findings import BAD_IDENTIFIER, BAD_VALUE
from strands_cli.yaml_files.document import Document, escape

if TYPE_CHECKING:
    from strands_cli.workflow.steps import HttpExecutor


# Headers that a workflow sends to a service: invalid ones, and credentials that others could read.


PLAIN_CREDENTIAL = Code(
    "plain-credential",
    "A header for credentials has its value in the workflow, where every reader sees it.",
    "Declare it under `env.secrets`, and write `${secrets.NAME}`.",
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
    """Yield the faults of the headers of a service."""
    for name, value in headers.items():
        yield from _check_header(
            owner, (name, value), scheme, host, document.where(f"{pointer}/headers/{escape(name)}")
        )


def check_auth(executor: HttpExecutor, scheme: str, host: str, pointer: str, document: Document) -> Iterator[Finding]:
    """Yield the faults of the `auth` of a service; a missing field is a finding of the file."""
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


TOOL = "http_executor"
_INSTALL = "pip install --upgrade 'strands-cli[tools]'"
_SECTION = "/tools/http_executors"
_BASE_URL = re.compile(r"(https?)://(\[[^\]\s]+\]|[^\s/?#@:\[\]\\]+)(:\d{1,5})?(/[^\s?#\\]*)?")
# The time of a call beyond its requests, so that the tool itself can say which one was slow.
_GRACE_S = 5


def planned_executors(context: ResolveContext) -> dict[str, InstalledTool | None]:
    """Return the executors of a workflow by their ids; None for one that cannot be used, with a finding."""
    executors = context.spec.tools.http_executors
    if not executors:
        return {}
    record = _record(context)
    bare = installed_tool(record, context.catalog, TOOL) if record is not None else None
    planned: dict[str, InstalledTool | None] = {}
    for index, executor in enumerate(executors):
        faults = list(_faults(executor, f"{_SECTION}/{index}", context))
        context.findings += faults
        sound = bare is not None and not has_errors(faults)
        context.is_complete &= sound
        planned[executor.id] = _planned(executor, bare, index, context) if bare is not None and sound else None
    return planned


def _record(context: ResolveContext) -> ToolRecord | None:
    """Return the installed tool; an obstacle to it is a finding."""
    record = context.catalog.lookup(f"native:{TOOL}")
    if isinstance(record, ToolRecord):
        return record
    where = context.document.where(_SECTION)
    if record.code == UNKNOWN_TOOL:
        message = f"tools.http_executors needs the tool '{TOOL}', which no installed distribution provides"
        record = Finding(TOOL_UNMET, message, None, _INSTALL)
    context.findings.append(replace(record, where=where))
    return None


def _planned(executor: HttpExecutor, bare: InstalledTool, index: int, context: ResolveContext) -> InstalledTool:
    where = context.document.where(f"{_SECTION}/{index}")
    config = _config(executor)
    context.check_config(bare.record, config, where)
    # An executor called as an installed tool is not allowed by that name.
    typed = () if f"native:{executor.id}" in context.catalog.allowed_refs else (executor.id,)
    tool = replace(
        bare,
        name=executor.id,
        ref=executor.id,
        record=replace(bare.record, description=description_of(executor)),
        config=config,
        config_claims=_config_claims(executor, bare.record),
        typed_names=typed,
    )
    return context.decide(tool, where)


def _config(executor: HttpExecutor) -> dict[str, Any]:
    config: dict[str, Any] = {
        "base_url": executor.base_url,
        "headers": dict(executor.headers),
        "timeout_ms": executor.timeout_ms,
    }
    if (auth := executor.auth) is not None and auth.is_complete:
        # Base64 is made of the values, which only a call has.
        header, user = auth.header, {"username": auth.username, "password": auth.password}
        config |= {"basic": user} if header is None else {"headers": {**executor.headers, header[0]: header[1]}}
    return config if (form := _form(executor)) is None else {**config, "response_format": form}


def _form(executor: HttpExecutor) -> str | None:
    """Return how the tool is to read answers, where `response_format` is one of the two words that it knows."""
    form = executor.response_format
    return form.lower() if isinstance(form, str) and form.lower() in ("json", "text") else None


def _config_claims(executor: HttpExecutor, record: ToolRecord) -> dict[str, Any]:
    """Return the claims of the tool with this configuration: to reach one host, and use the secrets of its headers."""
    _, host, port, _ = _parts(executor)
    capabilities: dict[str, Any] = {"network": [f"{host}{port}"]}
    if named := secrets_in(_config(executor), record.config_schema):
        capabilities["secrets"] = list(named)
    return {"capabilities": capabilities, "timeout_s": executor.timeout_ms / 1000 + _GRACE_S}


def _parts(executor: HttpExecutor) -> tuple[str, str, str, str]:
    match = _BASE_URL.fullmatch(executor.base_url)
    scheme, host, port, path = match.groups(default="") if match else ("", "", "", "")
    return scheme, host, port, path


def _faults(executor: HttpExecutor, pointer: str, context: ResolveContext) -> Iterator[Finding]:
    """Yield the faults of an executor as written."""
    where = context.document.where
    if not MEMBER_NAME.fullmatch(executor.id):
        message = f"the executor '{executor.id}' has a name that models cannot call"
        fix = f"write {re.sub(r'[^a-zA-Z0-9_-]', '_', executor.id)[:64]}"
        yield Finding(BAD_IDENTIFIER, message, where(f"{pointer}/id"), fix)
    scheme, host, _, _ = _parts(executor)
    if not scheme:
        message = f"`base_url` of '{executor.id}' is not http(s)://host[:port][/path]"
        fix = "leave out user name, query and fragment; a secret goes into `headers` as ${secrets.NAME}"
        yield Finding(BAD_VALUE, message, where(f"{pointer}/base_url"), fix)
    if scheme == "http" and secrets_in(executor.base_url) and not is_this_machine(host):
        message = f"the address of '{executor.id}' would carry a secret over plain http"
        yield Finding(BAD_VALUE, message, where(f"{pointer}/base_url"), "take an https:// address")
    yield from check_headers(executor.id, executor.headers, scheme, host, pointer, context.document)
    yield from check_auth(executor, scheme, host, pointer, context.document)


def description_of(executor: HttpExecutor) -> str:
    """Return the model's description of an executor: the text of the workflow about it, no header and no secret."""
    base_url = filled_in(executor.base_url, lambda _: "***")
    lines = [executor.description or "Send requests to an HTTP service.", f"Paths are below {base_url}."]
    lines += _listed("Endpoints:", map(_endpoint, executor.common_endpoints))
    lines += _listed("Examples:", map(_example, executor.examples))
    if executor.response_format:
        lines.append(f"Answers: {_text(executor.response_format)}")
    if executor.authentication_info:
        lines.append(f"Authentication: {_text(executor.authentication_info)}")
    return "\n".join(lines)


def _listed(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return [title, *lines] if lines else []


def _endpoint(item: Any) -> str:
    if not isinstance(item, Mapping) or not item.get("path"):
        return _text(item)
    rest = {name: value for name, value in item.items() if name not in ("method", "path", "description")}
    words = [f"{item.get('method', 'GET')} {item['path']}", str(item.get("description") or "")]
    return ": ".join(filter(None, words)) + (f" {_text(rest)}" if rest else "")


def _example(item: Any) -> str:
    if not isinstance(item, Mapping):
        return _text(item)
    call = {name: value for name, value in item.items() if name not in ("description", "name")}
    title = item.get("description") or item.get("name")
    return f"{title}: {_text(call)}" if title else _text(call)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)
