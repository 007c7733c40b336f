"""The model of a workflow, with the models of its parts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field, StrictFloat, StrictInt, StrictStr

from strands_cli.errors import Finding, Where, few_of_each, has_errors, suggest
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import mapped
from strands_cli.workflow.agent_sections import AgentSpec, ContextPolicy, Skill
from strands_cli.workflow.findings import BAD_VALUE, UNKNOWN_SECRET
from strands_cli.workflow.pattern_model import ANY, AT_END, STEP, Items, Scope, Site, strings_in
from strands_cli.workflow.patterns.chain import Chain
from strands_cli.workflow.patterns.pattern_models import Pattern, reserved_names
from strands_cli.workflow.sections import (
    Env,
    FormatModel,
    Inputs,
    Metadata,
    Named,
    Outputs,
    ReadByItself,
    Rendering,
    Runtime,
    Security,
    Telemetry,
    coerce,
)
from strands_cli.workflow.steps import AgentStep, CallStep, HttpExecutor, McpServer, Tools
from strands_cli.workflow.templates.template import Templates, is_prompt_template
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import NO_SNAPSHOT, FileSnapshot

if TYPE_CHECKING:
    from strands_cli.workflow.known_answers import KnownAnswers
    from strands_cli.workflow.patterns.orchestrator_workers import OrchestratorConfig


# The characters that the plain path of an artifact replaces by `_`.
_NOT_IN_PATHS = re.compile(r"[^\w./-]+")


class WorkflowSpec(FormatModel):
    """One workflow: its agents, the tools that they may use, and the pattern in which they work.

    Where there are agents, `runtime` names a `provider` or `models`.
    """

    version: StrictInt | StrictFloat | StrictStr = Field(
        description="Version of the format: `2`. An installed distribution translates a file of another version.",
        examples=[2],
    )
    name: str = Field(min_length=1, description="Name of the workflow.")
    description: str | None = Field(default=None, description="What the workflow does.")
    tags: tuple[str, ...] = Field(default=(), description="Words for a search.")
    metadata: Metadata = Field(
        default_factory=Metadata.model_construct, description="Title and labels, for people and catalogues."
    )
    runtime: Runtime = Field(
        default_factory=Runtime.model_construct, description="The default model, and the limits of a run."
    )
    inputs: Inputs = Field(default_factory=Inputs.model_construct, description="The variables a run takes.")
    env: Annotated[Env, ReadByItself(Env)] = Field(
        default_factory=Env.model_construct, description="Secrets and directories of the machine."
    )
    telemetry: Annotated[Telemetry, ReadByItself(Telemetry)] = Field(
        default_factory=Telemetry.model_construct, description="Where traces go, and what they omit."
    )
    context_policy: Annotated[ContextPolicy, ReadByItself(ContextPolicy)] = Field(
        default_factory=ContextPolicy.model_construct, description="How context stays small."
    )
    skills: tuple[Annotated[Skill, ReadByItself(Skill)], ...] = Field(
        default=(), description="Folders of instructions, loaded on demand."
    )
    tools: Annotated[Tools, ReadByItself(Tools)] = Field(
        default_factory=Tools.model_construct, description="The tools of the workflow."
    )
    agents: Named[AgentSpec] = Field(
        default_factory=dict, description="The agents, by id; steps that only call tools need none."
    )
    pattern: Pattern = Field(description="How the agents work together.")
    rendering: Rendering = Field(default_factory=Rendering.model_construct, description="How templates are rendered.")
    outputs: Outputs = Field(default_factory=Outputs.model_construct, description="Files the run writes.")
    security: Annotated[Security, ReadByItself(Security)] = Field(
        default_factory=Security.model_construct, description="Restrictions on the workflow's tools."
    )

    def templates(self) -> Templates:
        """Return the renderer of its templates."""
        keeps_control = self.rendering.control_characters == "keep"
        return Templates(removes_control=not keeps_control)

    def artifact_path(self, rendered: str) -> str:
        """Return where an artifact is written."""
        parts = rendered.split("/")
        if not self.outputs.plain_paths or ".." in parts or not parts[0] or not parts[-1]:
            return rendered
        path = "/".join(part for part in parts if part != ".")
        return re.sub("__+", "_", _NOT_IN_PATHS.sub("_", path)).strip("._/") or rendered

    @property
    def only_agent(self) -> str | None:
        """The agent of a workflow with one agent and one step, the turn of this agent."""
        steps = self.pattern.config.steps if isinstance(self.pattern, Chain) else ()
        is_alone = len(self.agents) == len(steps) == 1 and isinstance(steps[0], AgentStep)
        return next(iter(self.agents)) if is_alone else None

    @property
    def schema_of_inputs(self) -> Mapping[str, Any] | None:
        """The schema of a run's inputs together: the `input_schema` of an only agent, if it is for the run."""
        about_inputs = any(agent.input_schema_for == "run" for agent in self.agents.values())
        agent = self.agents[self.only_agent] if about_inputs and self.only_agent is not None else None
        schema = agent.input_schema if agent is not None and agent.takes_object else None
        return schema if isinstance(schema, Mapping) else None

    def object_of_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs of a run that the schema is about: not those that only the workflow itself declares."""
        from strands_cli.workflow.agent_sections import inputs_in  # most workflows have no such schema

        described = {name for part in inputs_in(self.schema_of_inputs or {}) for name in part}
        others = {*self.inputs.declared(), *self.inputs.values} - described
        values = {name: value for name, value in inputs.items() if value is not None and name not in others}
        declared = self.inputs.declared()
        return {
            name: coerce(declared[name].type, value) if isinstance(value, str) and name in declared else value
            for name, value in values.items()
        }

    def folder_of_servers(self, folder: Path) -> Path:
        """Return where the programs of MCP servers run; `folder` is that of the file."""
        return Path.cwd() if self.tools.mcp_folder == "working" else folder

    def words_of_gate(self, key: str) -> tuple[tuple[str, ...], bool]:
        """Return the answers to a gate that the workflow knows, and whether it takes no other; by its key in a run."""
        return self._known_answers.of(key)

    @functools.cached_property
    def _known_answers(self) -> KnownAnswers:
        from strands_cli.workflow.known_answers import KnownAnswers

        return KnownAnswers(self.pattern, self.outputs, self.templates())

    def named_tools(self) -> list[str]:
        """Return every tool reference in the workflow."""
        entries = [*self.tools.python, *(entry for agent in self.agents.values() for entry in agent.tools or ())]
        called = [step.tool for composite in self.tools.composite for step in composite.steps]
        for step in (placed.step for placed in self.pattern.placed):
            if isinstance(step, AgentStep):
                entries += step.tool_overrides or ()
            elif isinstance(step, CallStep):
                called.append(step.tool)
        return [*(entry.tool for entry in entries), *called]


# A document with the workflow and the findings that came of it.


@dataclass(frozen=True, slots=True)
class Repairs:
    """The repairs of a document with mistakes in its form, which make it readable.

    Attributes:
        absent: Pointers of the values that were left out or replaced.
        filled: Pointers of the mappings with a value that replaces another.
        untrue: Codes of findings about the repaired workflow that do not hold for the document.
        renamed: For each key that replaces a mistyped one, both with their pointers, the mistyped one.
    """

    absent: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    untrue: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)

    def as_written(self, finding: Finding) -> Finding | None:
        """Return a finding about the repaired workflow at its place in the document; None if repairs made it."""
        where = finding.where
        if where is None or self == _NONE:
            return finding
        pointer = where.pointer
        pointers = [pointer]  # a value that was moved may have been replaced where it is now
        for new, old in self.renamed.items():
            if pointer == new or pointer.startswith(f"{new}/"):
                pointer = old + pointer[len(new) :]
                pointers.append(pointer)
        is_untrue = finding.code in self.untrue or pointer in self.filled
        if is_untrue or any(
            passed_pointer == absent_pointer or passed_pointer.startswith(f"{absent_pointer}/")
            for absent_pointer in self.absent
            for passed_pointer in pointers
        ):
            return None
        return replace(finding, where=replace(where, pointer=pointer))


_NONE = Repairs()


@dataclass(frozen=True, slots=True)
class LoadedWorkflow:
    """The result of loading a document.

    Attributes:
        spec: The workflow, also where references or templates in it are wrong; None for a document of another shape.
        findings: Errors and warnings; with an error among them, the workflow must not run.
        files: The files that the workflow names (`$ref`, schema paths); `spec` has their content.
        origins: The file and the pointer in it for each pointer of the workflow that a file has provided.
        snapshot: The files that a run has stored.
        readable: The workflow as far as it can be read: `spec`, else the workflow without its mistakes.
        repairs: The repairs in `readable`.
        packages: The file of each `package:DIST/NAME` that its agents name.
        default_model: The user's default model, PROVIDER/MODEL, if `runtime` names none and so has it; else empty.
        aliases: The models of the aliases in its lists of models.
    """

    spec: WorkflowSpec | None
    document: Document
    findings: tuple[Finding, ...] = ()
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = field(default_factory=dict)
    snapshot: FileSnapshot = NO_SNAPSHOT
    readable: WorkflowSpec | None = None
    repairs: Repairs = field(default_factory=Repairs)
    packages: Mapping[str, str] = field(default_factory=dict)
    default_model: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> WorkflowSpec | None:
        """The workflow, if there is one without errors."""
        return None if has_errors(self.findings) else self.spec

    def with_findings(self, findings: Iterable[Finding]) -> LoadedWorkflow:
        """Return it with further findings, each once, in the order of the file; those of other files follow."""

        def place(finding: Finding) -> tuple[bool, str, int, int]:
            where = finding.where or Where(self.document.file)
            return where.file != self.document.file, where.file, where.line or 0, where.column or 0

        true = filter(None, map(self.repairs.as_written, findings))
        every = sorted(dict.fromkeys((*self.findings, *true)), key=place)
        return replace(self, findings=few_of_each(every))

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Return the place of a node: in the workflow, or in the file that `$ref` names."""
        document, written_pointer = self._written(pointer)
        return document.where(written_pointer, key=key)

    def where_in_text(self, pointer: str, line: int | None) -> Where:
        """Return the place of a line of a text, as `where`."""
        document, written_pointer = self._written(pointer)
        return document.where_in_text(written_pointer, line)

    def _written(self, pointer: str) -> tuple[Document, str]:
        ancestor = pointer if self.origins else ""
        while ancestor:
            if ancestor in self.origins:
                document, prefix = self.origins[ancestor]
                return document, prefix + pointer[len(ancestor) :]
            ancestor = ancestor.rpartition("/")[0]
        return self.document, pointer


# The `input_schema` of an agent that describes the inputs of a run (`input_schema_for: run`).


def unchecked_schemas(spec: WorkflowSpec) -> list[str]:
    """Return the agents whose schema is about the input of an agent by itself, in a workflow of more than that."""
    about_inputs = [name for name, agent in spec.agents.items() if agent.input_schema_for == "run"]
    if not about_inputs or spec.only_agent is not None:
        return []
    return [name for name in about_inputs if spec.agents[name].takes_object]


def with_declared_inputs(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow that declares the inputs of its schema, besides those that it declares itself."""
    from strands_cli.workflow.agent_sections import inputs_in  # most workflows have no such schema

    schema = spec.schema_of_inputs or {}
    known_names = {*spec.inputs.declared(), *spec.inputs.values}
    needed, optional = (
        {name: input_spec for name, input_spec in part.items() if name not in known_names} for part in inputs_in(schema)
    )
    update = {"required": {**spec.inputs.required, **needed}, "optional": {**spec.inputs.optional, **optional}}
    return spec.model_copy(update={"inputs": spec.inputs.model_copy(update=update)})


# Whether an orchestrator reads any of a run's inputs.


def unread_inputs(spec: WorkflowSpec) -> list[str]:
    """Return the inputs of a workflow whose orchestrator's message and prompt read none of them."""
    config = _config_of(spec)
    if config is None:
        return []
    names, step, templates = [*spec.inputs.values, *spec.inputs.declared()], config.orchestrator, Templates()
    agent = spec.agents.get(step.agent)
    texts = [site.text for site in strings_in(step.vars, "", {})]
    texts += [step.input or "", (agent.prompt if agent is not None else None) or ""]
    read = set[str]().union(*map(templates.names_in, texts))
    return [] if read.intersection(names) else list(dict.fromkeys(names))


def _config_of(spec: WorkflowSpec) -> OrchestratorConfig | None:
    """Return the config of a workflow with an orchestrator; no other pattern is imported to see that."""
    return cast("OrchestratorConfig", spec.pattern.config) if spec.pattern.type == "orchestrator_workers" else None


# `${NAME}` in the places that send: read as the secret of that name, which `env.secrets` must have.


_REFERENCE = re.compile(r"\$\{([^{}]+)\}")
_IN_HOST = re.compile(r"[^/]*//[^/?#]*\$\{secrets\.")
_NAME = re.compile(r"[\w.-]+")
_PREFIX = "secrets."
# `$NAME` of shells, and `{{ NAME }}` of templates, not filled in where things are sent.
_OTHER_FORMS = re.compile(r"\$(\w+)|\{\{\s*(?:\w+\.)*(\w+)\s*\}\}")


def with_secret_names(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow with `${secrets.NAME}` for each `${NAME}` of a declared secret in a place that sends."""
    names = _declared(spec)
    if not names:
        return spec

    def whole(text: str) -> str:
        return _REFERENCE.sub(lambda match: f"${{{_PREFIX}{match[1]}}}" if match[1] in names else match[0], text)

    servers = [_server(server, whole) for server in spec.tools.mcp]
    executors = [_executor(executor, whole) for executor in spec.tools.http_executors]
    runtime = {"options": mapped(spec.runtime.options, whole)}
    if spec.runtime.host is not None:
        runtime["host"] = whole(spec.runtime.host)
    tools = spec.tools.model_copy(update={"mcp": tuple(servers), "http_executors": tuple(executors)})
    return spec.model_copy(update={"tools": tools, "runtime": spec.runtime.model_copy(update=runtime)})


def check_secret_places(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Yield an error for each reference to an undeclared secret in a place that sends, or in a host."""
    declared = _declared(spec)
    for pointer, text in _texts(spec):
        for name in _REFERENCE.findall(text):
            if name.removeprefix(_PREFIX) not in declared:
                yield _undeclared(name, pointer, spec, workflow)
        yield from _sent_as_written(text, pointer, declared, workflow)
    for pointer, address in _addresses(spec):
        if _IN_HOST.match(address):
            message = "a secret is in the host of this address, which must be known before a run"
            yield Finding(BAD_VALUE, message, workflow.where(pointer), "write the host out; a path may name a secret")


def _sent_as_written(text: str, pointer: str, declared: Container[str], workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Yield an error for a text that looks like a reference to a secret and is none."""
    written = (match[1] or match[2] for match in _OTHER_FORMS.finditer(text))
    for name in dict.fromkeys(name for name in written if name in declared):
        message = f"this is sent as it is written: it names the secret '{name}' in another form than `${{NAME}}`"
        yield Finding(UNKNOWN_SECRET, message, workflow.where(pointer), f"write ${{{name}}}")


def _undeclared(name: str, pointer: str, spec: WorkflowSpec, workflow: LoadedWorkflow) -> Finding:
    plain = name.removeprefix(_PREFIX)
    message = f"${{{name}}} names no secret: `env.secrets` does not have '{plain}'"
    fix: str | None = "write ${NAME}, the name of a secret of `env.secrets`"
    if named := next((secret.name for secret in spec.env.secrets if secret.key == plain), None):
        fix = f"write ${{{named}}}: `{plain}` is its name at its source"
    elif _NAME.fullmatch(plain):
        fix = suggest(plain, _declared(spec), f"declare it: env: {{secrets: [{{key: {plain}}}]}}")
    return Finding(UNKNOWN_SECRET, message, workflow.where(pointer), fix)


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


# Every template and condition of a workflow, each with its place and the names it may use.


def template_sites(spec: WorkflowSpec) -> Iterator[Site]:
    """Yield every template and condition of a workflow; those of composite tools have names of their own."""
    yield from _prompts(spec)
    if (end := spec.context_policy.prompt_end) is not None:
        yield Site("/context_policy/prompt_end", end, {"agent": ANY})
    for placed in spec.pattern.placed:
        yield from placed.sites()
    yield from spec.pattern.templates()
    at_end = _at_end(spec)
    for index, artifact in enumerate(spec.outputs.artifacts):
        yield Site(f"/outputs/artifacts/{index}/path", artifact.path, at_end)
        yield Site(f"/outputs/artifacts/{index}/from", artifact.from_, at_end)
    yield from _sites_of_composites(spec)


def _at_end(spec: WorkflowSpec) -> Scope:
    names, ran = (
        spec.pattern.names_at_end(),
        {spec.pattern.step_name(placed.key): ANY for placed in spec.pattern.placed},
    )
    last = {"last_response": spec.pattern.last_answer()}
    context = {"iterations": ran, **AT_END["execution_context"], **last, **names}
    return {**AT_END, **last, **names, "execution_context": context}


def _prompts(spec: WorkflowSpec) -> Iterator[Site]:
    """Yield the prompts in template form, once for each use of their agent, with the names that it has there."""
    prompts = {name: agent.prompt for name, agent in spec.agents.items() if is_prompt_template(agent.prompt or "")}
    called = {tool.removeprefix("agent:") for tool in spec.named_tools() if tool.startswith("agent:")}
    unused = prompts.keys() - called
    for placed in spec.pattern.placed:
        if isinstance(placed.step, AgentStep) and (prompt := prompts.get(placed.step.agent)) is not None:
            unused.discard(placed.step.agent)
            yield Site(
                _prompt_of(placed.step.agent),
                prompt,
                spec.pattern.names_in_prompt(placed),
                use=f" (where {placed.key} uses the prompt)",
            )
    for name in prompts:
        if name in called:
            yield Site(_prompt_of(name), prompts[name] or "", {}, use=" (where the agent is a tool)")
        elif name in unused:  # is never rendered
            yield Site(_prompt_of(name), prompts[name] or "", dict.fromkeys(reserved_names(), ANY))


def _prompt_of(agent: str) -> str:
    return f"/agents/{escape(agent)}/prompt"


def _sites_of_composites(spec: WorkflowSpec) -> Iterator[Site]:
    for index, tool in enumerate(spec.tools.composite):
        pointer = f"/tools/composite/{index}"
        properties = tool.input_schema.get("properties")
        scope: dict[str, Any] = dict.fromkeys(properties if isinstance(properties, Mapping) else (), ANY)
        scope = {"input": ANY, **scope, "steps": Items(STEP, 0)}
        for number, step in enumerate(tool.steps):
            yield from strings_in(step.input, f"{pointer}/steps/{number}/input", dict(scope))
            if step.save_as:
                scope[step.save_as] = ANY
            scope |= {"last_response": ANY, "steps": Items(STEP, number + 1)}
        if tool.output is not None:
            yield Site(f"{pointer}/output", tool.output, scope)
