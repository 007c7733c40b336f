"""`${NAME}` in the places that send: read as the secret of that name, which `env.secrets` must have."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from strands_cli.errors import Finding, suggest
from strands_cli.texts.canonical_json import mapped
from strands_cli.workflow.findings import BAD_VALUE, UNKNOWN_SECRET
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.steps.tool_entries import HttpExecutor, McpServer
from strands_cli.yaml_files.document import escape

_REFERENCE = re.compile(r"\$\{([^{}]+)\}")
_IN_HOST = re.compile(r"[^/]*//[^/?#]*\$\{secrets\.")
_NAME = re.compile(r"[\w.-]+")
_PREFIX = "secrets."
# `$NAME` of shells, and `{{ NAME }}` of templates, which are not filled in where things are sent.
_OTHER_FORMS = re.compile(r"\$(\w+)|\{\{\s*(?:\w+\.)*(\w+)\s*\}\}")


def with_secret_names(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow with `${secrets.NAME}` for each `${NAME}` of a declared secret in a place that sends."""
    names = _declared(spec)
    if not names:
        return spec

    def whole(text: str) -> str:
        return _REFERENCE.sub(lambda found: f"${{{_PREFIX}{found[1]}}}" if found[1] in names else found[0], text)

    servers = [_server(server, whole) for server in spec.tools.mcp]
    executors = [_executor(executor, whole) for executor in spec.tools.http_executors]
    runtime = {"options": mapped(spec.runtime.options, whole)}
    if spec.runtime.host is not None:
        runtime["host"] = whole(spec.runtime.host)
    tools = spec.tools.model_copy(update={"mcp": tuple(servers), "http_executors": tuple(executors)})
    return spec.model_copy(update={"tools": tools, "runtime": spec.runtime.model_copy(update=runtime)})


def check_secret_places(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield an error for each reference in a place that sends to a secret that is not declared, or in a host."""
    declared = _declared(spec)
    for pointer, text in _texts(spec):
        for name in _REFERENCE.findall(text):
            if name.removeprefix(_PREFIX) not in declared:
                yield _undeclared(name, pointer, spec, loaded)
        yield from _sent_as_written(text, pointer, declared, loaded)
    for pointer, address in _addresses(spec):
        if _IN_HOST.match(address):
            message = "a secret is in the host of this address, which must be known before a run"
            yield Finding(BAD_VALUE, message, loaded.where(pointer), "write the host out; a path may name a secret")


def _sent_as_written(text: str, pointer: str, declared: Container[str], loaded: Loaded) -> Iterator[Finding]:
    """Yield an error for what looks like a reference to a secret and is none."""
    written = (found[1] or found[2] for found in _OTHER_FORMS.finditer(text))
    for name in dict.fromkeys(name for name in written if name in declared):
        message = f"this is sent as it is written: it names the secret '{name}' in another form than `${{NAME}}`"
        yield Finding(UNKNOWN_SECRET, message, loaded.where(pointer), f"write ${{{name}}}")


def _undeclared(name: str, pointer: str, spec: WorkflowSpec, loaded: Loaded) -> Finding:
    plain = name.removeprefix(_PREFIX)
    message = f"${{{name}}} names no secret: `env.secrets` does not have '{plain}'"
    fix: str | None = "write ${NAME}, the name of a secret of `env.secrets`"
    if named := next((one.name for one in spec.env.secrets if one.key == plain), None):
        fix = f"write ${{{named}}}: `{plain}` is its name at its source"
    elif _NAME.fullmatch(plain):
        fix = suggest(plain, _declared(spec), f"declare it: env: {{secrets: [{{key: {plain}}}]}}")
    return Finding(UNKNOWN_SECRET, message, loaded.where(pointer), fix)


def _declared(spec: WorkflowSpec) -> dict[str, None]:
    return dict.fromkeys(secret.name or secret.key for secret in spec.env.secrets)


def _server(server: McpServer, whole: Callable[[str], str]) -> McpServer:
    changed = {"env": mapped(server.env, whole), "headers": mapped(server.headers, whole)}
    return server.model_copy(update=changed if server.url is None else {**changed, "url": whole(server.url)})


def _executor(executor: HttpExecutor, whole: Callable[[str], str]) -> HttpExecutor:
    changed = {"base_url": whole(executor.base_url), "headers": mapped(executor.headers, whole)}
    if (auth := executor.auth) is not None:
        changed["auth"] = auth.model_copy(update=mapped(auth.model_dump(exclude={"type"}), whole))
    return executor.model_copy(update=changed)


def _texts(spec: WorkflowSpec) -> Iterator[tuple[str, str]]:
    """Yield every text that is sent, with its pointer; variables of `runtime.host` are those of the environment."""
    for index, server in enumerate(spec.tools.mcp):
        yield from _texts_in({"env": server.env, "headers": server.headers, "url": server.url}, f"/tools/mcp/{index}")
    for index, executor in enumerate(spec.tools.http_executors):
        auth = executor.auth.model_dump() if executor.auth is not None else None
        parts = {"base_url": executor.base_url, "headers": executor.headers, "auth": auth}
        yield from _texts_in(parts, f"/tools/http_executors/{index}")
    yield from _texts_in(spec.runtime.options, "/runtime/options")


def _texts_in(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts_in(item, f"{pointer}/{escape(str(name))}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _texts_in(item, f"{pointer}/{index}")


def _addresses(spec: WorkflowSpec) -> Iterator[tuple[str, str]]:
    yield "/runtime/host", spec.runtime.host or ""
    for index, executor in enumerate(spec.tools.http_executors):
        yield f"/tools/http_executors/{index}/base_url", executor.base_url
