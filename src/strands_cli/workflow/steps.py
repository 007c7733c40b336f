"""The steps of all patterns, the words that answer their gates, and how the tools section names a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from strands_cli.texts.phrases import SECONDS_OF_UNIT
from strands_cli.workflow.sections import FormatModel, Identifier
from strands_cli.workflow.templates.template import is_prompt_template

# The words with which a person answers a gate: those that approve, and the meaning of a text.


# The answers to a gate that approve, in any case; without --answer, `approve` gives the first that fits.
APPROVALS = ("approved", "approve", "yes", "y", "ok")
_PREFIX = "route:"


def is_approval(answer: str) -> bool:
    """Return whether an answer to a gate approves."""
    return answer.strip().lower() in APPROVALS


def meant_word(text: str, words: Sequence[str]) -> str | None:
    """Return which of the words an answer means: in any case, also after `route:`; an approval means the first one."""
    text = text.strip()
    if text in words:
        return text
    folded = text.casefold()
    for form in (folded, folded.removeprefix(_PREFIX).strip()):
        for word in words:
            if word.casefold() == form:
                return word
    return next((word for word in words if is_approval(word)), None) if is_approval(text) else None


class ToolEntry(FormatModel):
    """One tool in a list; a string means `{tool: ...}`, and `callable` is another name of `tool`."""

    tool: str = Field(min_length=1, description="The tool's name, for example `native:file_read`.")
    config: Mapping[str, Any] = Field(default_factory=dict, description="Settings of the tool, checked by its schema.")
    as_: str | None = Field(
        default=None,
        alias="as",
        pattern=r"^[a-zA-Z0-9_-]{1,64}$",
        description="The name under which the model sees the tool.",
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read a bare string, and the key `callable`."""
        if isinstance(value, str):
            return {"tool": value}
        if isinstance(value, dict) and "callable" in value and "tool" not in value:
            return {("tool" if key == "callable" else key): item for key, item in value.items()}
        return value


class McpTools(FormatModel):
    """Which tools of an MCP server agents get."""

    restricting: ClassVar[frozenset[str]] = frozenset({"allow"})

    allow: tuple[str, ...] | None = Field(default=None, description="Only these tools.")
    deny: tuple[str, ...] = Field(default=(), description="All but these tools.")


class McpServer(FormatModel):
    """An MCP server: started by `command`, or reached at `url`."""

    # Files of other clients have further keys here; the loader reports each as a warning.
    model_config = ConfigDict(extra="allow")

    id: Identifier = Field(description="Name of the server; its tools are `mcp:<id>/<tool>`.")
    command: str | None = Field(default=None, description="Program that speaks MCP on stdin and stdout.")
    args: tuple[str, ...] = Field(default=(), description="Arguments of the program.")
    env: Mapping[str, str] = Field(default_factory=dict, description="Environment variables of the program.")
    url: str | None = Field(default=None, description="Address of a server that speaks MCP over HTTP.")
    headers: Mapping[str, str] = Field(default_factory=dict, description="HTTP headers sent to the server.")
    proxy: str | None = Field(
        default=None,
        description="`http://host:port` of a proxy to a server over HTTP; none of the environment is used.",
    )
    allow_private: tuple[str, ...] = Field(
        default=(),
        description="Networks with a port, such as `10.1.0.0/16:443`, in which `url` or `proxy` may lie.",
    )
    prefix: str | None = Field(default=None, description="Prefix of the names of the server's tools.")
    startup_timeout: float = Field(default=30, gt=0, le=600, description="Seconds for the start and the list of tools.")
    tools: McpTools = Field(default_factory=McpTools.model_construct, description="Which of its tools agents get.")


class HttpAuth(FormatModel):
    """How requests to an HTTP service authenticate: each `type` has fields of its own."""

    type: Literal["bearer", "basic", "header"] = Field(description="A token, a user with a password, or a header.")
    token: str | None = Field(default=None, min_length=1, description="The token, for `bearer`.")
    username: str | None = Field(default=None, min_length=1, description="The user, for `basic`.")
    password: str | None = Field(default=None, min_length=1, description="The user's password, for `basic`.")
    name: str | None = Field(default=None, min_length=1, description="The name of the header, for `header`.")
    value: str | None = Field(default=None, min_length=1, description="The value of the header, for `header`.")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that its type has; the last is the credential."""
        return {"bearer": ("token",), "basic": ("username", "password"), "header": ("name", "value")}[self.type]

    @property
    def is_complete(self) -> bool:
        """Whether it has all of them; a missing one is a finding."""
        return all(getattr(self, field) for field in self.fields)

    @property
    def header(self) -> tuple[str, str] | None:
        """Name and value of the header that it means; None for `basic`, whose value is made at each call."""
        if self.type == "basic":
            return None
        return (
            (self.name or "", self.value or "") if self.type == "header" else ("Authorization", f"Bearer {self.token}")
        )


class HttpExecutor(FormatModel):
    """An HTTP service offered to agents as one tool."""

    id: Identifier = Field(description="Name of the tool.")
    base_url: str = Field(min_length=1, description="Every request is below this address.")
    headers: Mapping[str, str] = Field(default_factory=dict, description="Headers of every request.")
    auth: HttpAuth | None = Field(default=None, description="How every request authenticates.")
    timeout_ms: int = Field(default=30_000, ge=1, description="Longest time for one request, in milliseconds.")
    description: str | None = Field(default=None, description="What the service does, for the model.")
    examples: tuple[Any, ...] = Field(default=(), description="Example requests, for the model.")
    common_endpoints: tuple[Any, ...] = Field(default=(), description="Endpoints worth knowing, for the model.")
    response_format: Any = Field(default=None, description="What answers look like, for the model.")
    authentication_info: Any = Field(
        default=None, description="How the service authenticates, for the model; never a secret."
    )

    @property
    def sent(self) -> dict[str, Any]:
        """Return the parts of every request: the headers, or these and the fields of `auth`."""
        headers = dict(self.headers)
        return headers if self.auth is None else {"headers": headers, "auth": self.auth.model_dump()}


class CompositeStep(FormatModel):
    """One inner call of a composite tool."""

    tool: str = Field(min_length=1, description="The tool to call.")
    input: Mapping[str, Any] = Field(default_factory=dict, description="Its input; every string in it is a template.")
    save_as: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the result in later templates.",
    )


class CompositeTool(FormatModel):
    """A tool made of other tools, without code."""

    id: Identifier = Field(description="Name of the tool.")
    description: str = Field(description="What the tool does, for the model.")
    input_schema: Mapping[str, Any] = Field(
        default_factory=lambda: {"type": "object"}, description="JSON Schema of the tool's input."
    )
    steps: tuple[CompositeStep, ...] = Field(min_length=1, description="The calls, one after another.")
    output: str | None = Field(default=None, description="The answer (a template); the last result if not given.")


class Tools(FormatModel):
    """The tools of the workflow; agents without a list of their own get all of them."""

    python: tuple[ToolEntry, ...] = Field(default=(), description="Installed tools and allowlisted Python callables.")
    python_path: tuple[str, ...] = Field(
        default=(), description="Folders inside the workflow's own, for allowlisted callables."
    )
    mcp: tuple[McpServer, ...] = Field(default=(), description="MCP servers.")
    mcp_folder: Literal["workflow", "working"] = Field(
        default="workflow",
        description="Where programs of MCP servers run: in the folder of the file, or in the working directory.",
    )
    http_executors: tuple[HttpExecutor, ...] = Field(default=(), description="HTTP services as tools.")
    composite: tuple[CompositeTool, ...] = Field(default=(), description="Tools made of other tools.")


# The three kinds of step: a turn of an agent, a question to a person, a call of a tool.


# The formats of attachments, as the SDK has blocks for them. No provider is known to read further ones.
IMAGES = ("png", "jpeg", "gif", "webp")
DOCUMENTS = ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
AttachmentType = Literal["png", "jpeg", "gif", "webp", "pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"]


class AttachedFile(FormatModel):
    """A picture or a document that goes to an agent with its message; a string means `{path: ...}`."""

    path: str = Field(
        min_length=1,
        description="The file (a template), from the workflow's folder on; one that a template names may also be in "
        "the working directory. A lone `{{ expression }}` may be a list of files.",
    )
    type: AttachmentType | None = Field(default=None, description="Its type, where its bytes must have just this one.")

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read a bare string."""
        return {"path": value} if isinstance(value, str) else value


class AgentStep(FormatModel):
    """One turn of an agent: it gets a message, may use its tools, and answers."""

    restricting: ClassVar[frozenset[str]] = frozenset({"tool_overrides"})

    agent: str = Field(min_length=1, description="Id of the agent.")
    input: str | None = Field(
        default=None, description="The message to the agent (a template); its prompt if not given."
    )
    vars: Mapping[str, Any] = Field(
        default_factory=dict, description="Extra names for this step's templates; strings are templates."
    )
    attachments: tuple[AttachedFile, ...] = Field(
        default=(), description="Pictures and documents that go to the agent with the message."
    )
    tool_overrides: tuple[ToolEntry, ...] | None = Field(default=None, description="The agent's tools in this step.")


class GateValidation(FormatModel):
    """The form of an answer to a gate."""

    pattern: str | None = Field(default=None, description="Regular expression that must match the whole answer.")


# The form of `expires`.
DURATION = "^[0-9]{1,6}[smhdw]$"


class GateStep(FormatModel):
    """A question to a person; the run waits for the answer."""

    type: Literal["hitl"] = Field(default="hitl", description="Marks the step as a human gate.")
    prompt: str = Field(min_length=1, description="The question (a template).")
    context_display: str | None = Field(
        default=None, description="What the person sees with the question (a template)."
    )
    default: str | None = Field(default=None, description="The answer if the person gives none, or the time is over.")
    timeout_seconds: float | None = Field(
        default=None, ge=0, description="How long to wait before `default` is taken; 0: without a limit."
    )
    validation: GateValidation | None = Field(default=None, description="What the answer must look like.")
    answer: Mapping[str, Any] | None = Field(
        default=None, description="JSON Schema of the answer, such as `{type: boolean}` or `{enum: [ship, hold]}`."
    )
    approvers: int = Field(default=1, ge=1, le=9, description="How many different people must give the same answer.")
    expires: str | None = Field(
        default=None,
        json_schema_extra={"pattern": DURATION},
        description="How long an answer is accepted: a number with `s`, `m`, `h`, `d` or `w`.",
    )
    on_expiry: Literal["reject", "fail", "default"] = Field(
        default="reject", description="Afterwards: as a person rejects, the step fails to be asked again, or `default`."
    )
    delegate: str | None = Field(default=None, min_length=1, description="Name of the person who should answer.")

    @property
    def wait_s(self) -> float | None:
        """After how many seconds an answer of a person is not waited for any more."""
        if self.expires is None:
            return self.timeout_seconds
        return float(self.expires[:-1]) * SECONDS_OF_UNIT[self.expires[-1]]

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read a time of 0 as none."""
        if isinstance(value, dict) and value.get("timeout_seconds") == 0 and value["timeout_seconds"] is not False:
            return {name: item for name, item in value.items() if name != "timeout_seconds"}
        return value


class CallStep(FormatModel):
    """One call of a tool, without a model."""

    tool: str = Field(min_length=1, description="The tool's name, for example `native:file_read`.")
    input: Mapping[str, Any] = Field(
        default_factory=dict,
        description="The tool's input; strings are templates, and a lone `{{ expression }}` keeps its type.",
    )
    on_error: Literal["stop", "continue"] = Field(
        default="stop", description="An error of the tool fails the step, or is its result."
    )

    @property
    def continues_after_error(self) -> bool:
        """Whether later steps get an error of the tool as the step's response."""
        return self.on_error == "continue"


def agent_step(agent: str, text: str | None = None, tools: tuple[ToolEntry, ...] | None = None) -> AgentStep:
    """Return the step of an agent that a pattern or a tool implies; it is not validated again."""
    return AgentStep.model_construct(agent=agent, input=text, vars={}, tool_overrides=tools)


def question_to(step: AgentStep, prompt: str) -> str:
    """Return the template of the message to a step's agent: its input, else the agent's prompt."""
    if step.input is not None:
        return step.input
    return prompt if is_prompt_template(prompt) else "{% raw %}" + prompt + "{% endraw %}"


def step_form(value: Any) -> str | None:
    """Return which of the three step forms a value has, judged by its keys; None when it has none."""
    keys = value if isinstance(value, dict) else {name for name in ("agent", "tool", "type") if hasattr(value, name)}
    forms = {"agent": "<agent>", "tool": "<tool>", "type": "<gate>"}
    if isinstance(value, dict) and isinstance(value.get("input"), dict) and "tool" in keys:
        return "<tool>"  # also where an agent is written beside it: only the input of a tool is a mapping
    return next((form for key, form in forms.items() if key in keys), None)


# A step of a workflow: the work of an agent, a call of a tool, or a gate.
Step = Annotated[
    Annotated[AgentStep, Tag("<agent>")] | Annotated[GateStep, Tag("<gate>")] | Annotated[CallStep, Tag("<tool>")],
    Discriminator(step_form),
]
