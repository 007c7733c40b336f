"""The tools section of a workflow, and how a list of tools names one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from strands_cli.workflow.base_model import FormatModel, Identifier


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
        description="Networks with a port, such as `10.1.0.0/16:443`, in which the name of `url` or `proxy` may lie.",
    )
    prefix: str | None = Field(default=None, description="Prefix of the names of the server's tools.")
    startup_timeout: float = Field(
        default=30, gt=0, le=600, description="Seconds in which the server must have started and listed its tools."
    )
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
        """Whether it has all of them; if not, that is a finding."""
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
        """What every request carries: the headers, or these and the fields of `auth`."""
        headers = dict(self.headers)
        return headers if self.auth is None else {"headers": headers, "auth": self.auth.model_dump()}


class CompositeStep(FormatModel):
    """One inner call of a composite tool."""

    tool: str = Field(min_length=1, description="The tool to call.")
    input: Mapping[str, Any] = Field(default_factory=dict, description="Its input; every string in it is a template.")
    save_as: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name under which later templates see the result.",
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
        description="Where the programs of MCP servers run: in the folder of the file, or in the working directory.",
    )
    http_executors: tuple[HttpExecutor, ...] = Field(default=(), description="HTTP services as tools.")
    composite: tuple[CompositeTool, ...] = Field(default=(), description="Tools made of other tools.")
