"""Checks of the sections besides the pattern: inputs, tools, agents, schemas, secrets, outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from strands_cli.errors import Code, Finding, did_you_mean, suggest
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.checks.check_pattern import BAD_REGEX, check_regex, check_schema
from strands_cli.workflow.findings import (
    BAD_IDENTIFIER,
    BAD_SCHEMA,
    BAD_VALUE,
    DUPLICATE_ID,
    MISSING_KEY,
    NO_EFFECT,
    UNKNOWN_SERVER,
    duplicates,
    no_effect,
    unknown,
)
from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec, unchecked_schemas
from strands_cli.workflow.patterns.pattern_models import hiding_names
from strands_cli.workflow.sections import InputSpec
from strands_cli.workflow.steps import CompositeTool, HttpExecutor, McpServer
from strands_cli.workflow.templates.regular_expressions import SlowPattern, matches_empty_text
from strands_cli.yaml_files.document import escape

# Checks of `telemetry`: the patterns of texts that traces omit, and an address of another protocol than HTTP.


GRPC_PORT = Code(
    "grpc-port",
    "Traces that are meant to go by gRPC are sent over HTTP.",
    "Write the collector's port for OTLP over HTTP, usually 4318.",
)

_GRPC = re.compile(r":4317(?=/|$)")
_SCHEME = re.compile(r"^(?!https?://)(\w+://)?")


def address_for_http(url: str) -> str | None:
    """Return the address for HTTP in place of one with the port of gRPC; None for any other."""
    return _SCHEME.sub("http://", _GRPC.sub(":4318", url)) if _GRPC.search(url) else None


def check_telemetry(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Yield invalid or slow patterns, and an endpoint with the port of gRPC."""
    for index, pattern in enumerate(spec.telemetry.redact.custom_patterns):
        where = workflow.where(f"/telemetry/redact/custom_patterns/{index}")
        if (fault := check_regex(pattern, where)) is not None:
            yield fault
            continue
        try:
            is_everywhere = matches_empty_text(pattern)
        except SlowPattern as error:
            yield Finding(BAD_REGEX, f"the pattern cannot be used: {error}", where, "write a shorter one")
            continue
        if is_everywhere:
            message = f"the pattern {pattern!r} finds the empty text, which is everywhere"
            yield Finding(BAD_REGEX, message, where, "let it find a character at least")
    otel = spec.telemetry.otel
    http_address = address_for_http(otel.endpoint) if otel is not None and otel.endpoint else None
    if otel is not None and otel.endpoint is not None and not _is_destination(otel.endpoint):
        message = f"telemetry.otel.endpoint is neither `console` nor a URL of HTTP: {otel.endpoint!r}"
        fix = f"write it like {http_address or 'http://localhost:4318'}"
        yield Finding(BAD_VALUE, message, workflow.where("/telemetry/otel/endpoint"), fix)
    elif http_address:
        message = "traces are sent by OTLP over HTTP, and port 4317 is that of gRPC, which does not receive them"
        fix = f"write the collector's port for HTTP: {http_address}"
        yield Finding(GRPC_PORT, message, workflow.where("/telemetry/otel/endpoint"), fix, "warning")


def _is_destination(endpoint: str) -> bool:
    if endpoint == "console":
        return True
    try:
        parts = urlsplit(endpoint)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


SERVER_FORM = Code("server-form", "An MCP server with both or neither of `command` and `url`.", "Keep one of the two.")
RESERVED_NAME = Code(
    "reserved-name", "An input, or a saved result, with a name that templates already use.", "Choose another name."
)

# Each other source defines the meaning of a path itself.
_SOURCES_WITHOUT_PATH = frozenset({"env"})


def check_sections(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Yield every fault outside the pattern."""
    yield from check_inputs(spec, workflow)
    yield from check_agent_specs(spec, workflow)
    yield from check_tools(spec, workflow)
    yield from _check_runtime(spec, workflow)
    yield from _check_env(spec, workflow)
    if spec.tools.mcp or spec.tools.http_executors or spec.runtime.options or spec.runtime.host:
        from strands_cli.workflow.model import check_secret_places

        yield from check_secret_places(spec, workflow)
    if spec.telemetry.otel or spec.telemetry.redact.custom_patterns:
        yield from check_telemetry(spec, workflow)
    yield from duplicates("skill", [skill.id for skill in spec.skills], "/skills", workflow)
    yield from _check_retrieval(spec, workflow)
    yield from _check_artifacts(spec, workflow)


def check_inputs(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report inputs declared twice, defaults of another type, and names with a meaning in templates."""
    for section, inputs in (("required", spec.inputs.required), ("optional", spec.inputs.optional)):
        for name, declared in inputs.items():
            pointer = f"/inputs/{section}/{escape(name)}"
            yield from _check_input(name, declared, pointer, workflow)
            if section == "optional" and name in spec.inputs.required:
                where = workflow.where(pointer, key=True)
                yield Finding(DUPLICATE_ID, f"the input {name!r} is both required and optional", where, "keep one")
            if section == "required" and declared.default is not None:
                message = f"the input {name!r} is required, so its default is never used"
                yield no_effect(message, workflow.where(f"{pointer}/default", key=True), "move it to `optional`")
    for name, value in spec.inputs.values.items():
        input_spec = spec.inputs.declared().get(name)
        pointer = f"/inputs/values/{escape(name)}"
        if name in hiding_names():
            yield _reserved(name, pointer, workflow)
        if input_spec is not None and value is not None:
            yield from _check_value(input_spec, value, pointer, f"the value of {name!r}", workflow)


def _check_input(name: str, input_spec: InputSpec, pointer: str, workflow: LoadedWorkflow) -> Iterator[Finding]:
    if name in hiding_names():
        yield _reserved(name, pointer, workflow)
    if not name.isidentifier():
        message = f"templates cannot use the input {name!r}: a name there has letters, digits and _ only"
        yield Finding(
            BAD_IDENTIFIER, message, workflow.where(pointer, key=True), "write _ for other characters", "warning"
        )
    for index, allowed in enumerate(input_spec.enum or ()):
        alone = input_spec.model_copy(update={"enum": None})
        yield from _check_value(alone, allowed, f"{pointer}/enum/{index}", f"a value of `enum` of {name!r}", workflow)
    if input_spec.default is not None:
        yield from _check_value(
            input_spec, input_spec.default, f"{pointer}/default", f"the default of {name!r}", workflow
        )


def _reserved(name: str, pointer: str, workflow: LoadedWorkflow) -> Finding:
    message = f"{name!r} has a meaning in templates; where it has, it hides this input"
    return Finding(RESERVED_NAME, message, workflow.where(pointer, key=True), "rename the input", "warning")


def _check_value(
    input_spec: InputSpec, value: object, pointer: str, label: str, workflow: LoadedWorkflow
) -> Iterator[Finding]:
    try:
        input_spec.coerced(value)
    except ValueError as error:
        yield Finding(
            BAD_VALUE, f"{label} does not fit: {error}", workflow.where(pointer), "change the value or the type"
        )


def check_agent_specs(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report agents without a prompt, and invalid schemas."""
    for name, agent in spec.agents.items():
        pointer = f"/agents/{escape(name)}"
        if agent.prompt is None and agent.ref is None:
            where = workflow.where(pointer, key=True)
            yield Finding(
                MISSING_KEY, f"the agent {name!r} has no `prompt`", where, "add `prompt:`, or `$ref:` to a file"
            )
        for field, schema in (("input_schema", agent.input_schema), ("output_schema", agent.output_schema)):
            if isinstance(schema, dict):
                finding = check_schema(schema, workflow.where(f"{pointer}/{field}"))
                if finding is not None:
                    yield finding
    for name in unchecked_schemas(spec):
        message = "an `input_schema` is about the inputs of a run only where its agent has the only step"
        fix = "remove it; it is about each message to the agent without `input_schema_for: run`"
        where = workflow.where(f"/agents/{escape(name)}/input_schema")
        yield Finding(NO_EFFECT, message, where, fix, "warning")


# The names in templates of a composite tool besides its input and saved results.
_OF_COMPOSITES = ("steps", "last_response")


def check_tools(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report ids that occur twice, and faults of MCP servers, of executors and of composite tools' schemas."""
    tools = spec.tools
    for section, entries in (
        ("mcp", tools.mcp),
        ("http_executors", tools.http_executors),
        ("composite", tools.composite),
    ):
        yield from duplicates(section, [entry.id for entry in entries], f"/tools/{section}", workflow)
    for index, server in enumerate(tools.mcp):
        yield from _check_server(server, f"/tools/mcp/{index}", workflow)
    for index, executor in enumerate(tools.http_executors):
        yield from _check_auth(executor, f"/tools/http_executors/{index}/auth", workflow)
    for index, tool in enumerate(tools.composite):
        yield from _check_composite(tool, f"/tools/composite/{index}", workflow)


def _check_auth(executor: HttpExecutor, pointer: str, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report the fields that a form of authentication lacks, and those of another form."""
    if (auth := executor.auth) is None:
        return
    for field in type(auth).model_fields:
        is_given, is_known = getattr(auth, field) is not None, field in ("type", *auth.fields)
        if is_known and not is_given:
            message = f"`auth` of the type '{auth.type}' needs `{field}`"
            yield Finding(MISSING_KEY, message, workflow.where(pointer), f"add `{field}:`")
        elif is_given and not is_known:
            message = f"`{field}` has no effect in `auth` of the type '{auth.type}'"
            yield no_effect(message, workflow.where(f"{pointer}/{field}", key=True))


def _check_composite(tool: CompositeTool, pointer: str, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report an invalid schema, one that does not describe an object, and names with a meaning in its templates."""
    schema, at = tool.input_schema, f"{pointer}/input_schema"
    if isinstance(schema, dict) and (finding := check_schema(schema, workflow.where(at))) is not None:
        yield finding
        return
    if schema.get("type", "object") != "object":
        message = f"the input of the tool {tool.id!r} is not an object, and the input of a tool always is"
        yield Finding(BAD_SCHEMA, message, workflow.where(at), "write `type: object` with `properties`")
    properties = schema.get("properties")
    names = [(f"{at}/properties/{escape(name)}", name) for name in properties or () if name in _OF_COMPOSITES]
    names += [
        (f"{pointer}/steps/{number}/save_as", step.save_as)
        for number, step in enumerate(tool.steps)
        if step.save_as is not None and step.save_as in (*_OF_COMPOSITES, "input")
    ]
    for key_pointer, name in names:
        message = f"`{name}` has another meaning in the templates of the tool {tool.id!r}"
        yield Finding(RESERVED_NAME, message, workflow.where(key_pointer, key=True))


def _check_server(server: McpServer, pointer: str, workflow: LoadedWorkflow) -> Iterator[Finding]:
    if (server.command is None) == (server.url is None):
        how = "both" if server.command else "neither"
        message = f"the MCP server {server.id!r} needs one of `command` and `url`; it has {how}"
        close_keys = [key for key in server.model_extra or () if did_you_mean(key, ("command", "url"))]
        fix = (
            suggest(close_keys[0], ("command", "url"), form="`{}`")
            if close_keys
            else "write `command:` for a program, or `url:`"
        )
        if server.command:
            fix = "keep one of the two"
        key_pointer = f"{pointer}/{escape(close_keys[0])}" if close_keys else pointer
        yield Finding(SERVER_FORM, message, workflow.where(key_pointer, key=bool(close_keys)), fix)
        return
    for name, needs in (
        ("args", "command"),
        ("env", "command"),
        ("headers", "url"),
        ("proxy", "url"),
        ("allow_private", "url"),
    ):
        if getattr(server, name) and getattr(server, needs) is None:
            yield no_effect(f"`{name}` has no effect without `{needs}`", workflow.where(f"{pointer}/{name}", key=True))
    for key in server.model_extra or ():
        fix = suggest(key, McpServer.model_fields, "remove it", form="`{}`")
        yield no_effect(
            f"`{key}` of an MCP server has no effect here", workflow.where(f"{pointer}/{escape(key)}", key=True), fix
        )


def _check_runtime(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    written = json_object(workflow.document.value).get("runtime")
    if spec.agents and not spec.runtime.provider:
        if written is None:
            message = "the document has no `runtime`, and you have no default model"
            fix = "add `runtime:`, or choose a model for all workflows: strands models default PROVIDER/MODEL"
            yield Finding(MISSING_KEY, message, workflow.where(""), fix)
        elif isinstance(written, dict):
            yield Finding(MISSING_KEY, "`runtime` has no `provider`", workflow.where("/runtime"), "add `provider:`")
    policy = spec.runtime.failure_policy
    if policy.wait_min > policy.wait_max:
        message = f"`wait_min` ({policy.wait_min:g}) is longer than `wait_max` ({policy.wait_max:g})"
        yield Finding(BAD_VALUE, message, workflow.where("/runtime/failure_policy"), "swap them")
    providers = {spec.runtime.provider, *(agent.provider for agent in spec.agents.values())}
    is_open = any("${" in provider for provider in providers if provider is not None)
    if spec.runtime.recording is not None and "replay" not in providers and not is_open:
        message = "`recording` is only played by the provider `replay`"
        yield no_effect(message, workflow.where("/runtime/recording", key=True))


def _check_env(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    names: set[str] = set()
    for index, secret in enumerate(spec.env.secrets):
        pointer, name = f"/env/secrets/{index}", secret.name or secret.key
        if name in names:
            message = f"two secrets are named {name!r}"
            yield Finding(DUPLICATE_ID, message, workflow.where(pointer), "give one of them another `name`")
        names.add(name)
        if secret.path is not None and secret.source in _SOURCES_WITHOUT_PATH:
            message = f"`path` has no effect for a secret from `{secret.source}`"
            yield no_effect(message, workflow.where(f"{pointer}/path", key=True))
        if secret.path is None and secret.source in ("file", "command"):
            message = f"a secret from `{secret.source}` needs a `path`"
            yield Finding(MISSING_KEY, message, workflow.where(pointer), "add `path:`")


def _check_retrieval(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    retrieval = spec.context_policy.retrieval
    servers = [server.id for server in spec.tools.mcp]
    for index, name in enumerate(retrieval.mcp_servers if retrieval else ()):
        if name not in servers:
            yield unknown(
                UNKNOWN_SERVER, name, servers, workflow.where(f"/context_policy/retrieval/mcp_servers/{index}")
            )


def _check_artifacts(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    paths = [artifact.path for artifact in spec.outputs.artifacts]
    if spec.outputs.overwrite and not paths:
        yield no_effect("`overwrite` has no effect without `artifacts`", workflow.where("/outputs/overwrite", key=True))
    for index, path in enumerate(paths):
        if paths.index(path) < index:
            message = f"two artifacts are written to {path!r}"
            where = workflow.where(f"/outputs/artifacts/{index}/path")
            yield Finding(DUPLICATE_ID, message, where, "give each a path of its own")
