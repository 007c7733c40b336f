"""The kinds of tools that a plan takes from elsewhere: distributions, the program, custom Python and MCP servers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.manifest import in_present_words
from strands_cli.policy.decision import Decision, decide
from strands_cli.policy.rule import LATE, Request, Rule
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json, json_object

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.workflow.steps import McpServer


# Calls that only read by a tool's `read_only_when`: in words, and for arguments known before a run.


def reading_words(condition: Any) -> str:
    """Return which calls only read: `method GET or HEAD`."""
    choices = _choices(condition)
    if choices is None:
        return "arguments that fit its read_only_when"
    return " and ".join(f"{name} {' or '.join(map(str, values))}" for name, values in choices.items())


def reads_only(condition: Any, schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> bool | None:
    """Return whether a call only reads; None if that depends on arguments not known yet, or cannot be decided here.

    Only a choice among values is looked at: the library for schemas would cost each plan more than all else.

    Args:
        condition: The tool's `read_only_when`.
        schema: Its input schema, for defaults.
        arguments: The given arguments; an unknown value is None.
    """
    choices = _choices(condition)
    if choices is None:
        return None
    if any(name in arguments and arguments[name] is None for name in choices):
        return None
    properties = json_object((schema or {}).get("properties"))
    chosen = {name: arguments.get(name, json_object(properties.get(name)).get("default")) for name in choices}
    required = condition.get("required") or ()
    return all(
        chosen[name] in values if chosen[name] is not None else name not in required for name, values in choices.items()
    )


def _choices(condition: Any) -> dict[str, list[Any]] | None:
    """Return the values of each argument that a condition allows; None if it says anything else."""
    if not isinstance(condition, Mapping) or set(condition) - {"type", "properties", "required"}:
        return None
    choices: dict[str, list[Any]] = {}
    for name, schema in json_object(condition.get("properties")).items():
        if (
            not isinstance(schema, Mapping)
            or set(schema) - {"type", "enum"}
            or not isinstance(schema.get("enum"), list)
        ):
            return None
        choices[name] = schema["enum"]
    return choices or None


# Claims that the configuration of a tool adds to those of its distribution: the secrets that it names.


# The `format` by which a tool's `config_schema` says that a text is the name of a declared secret.
NAME_FORMAT = "secret-name"
# In a tool's `config`: the hosts that its author lets it reach. With those named, the model chooses none.
HOSTS = "allow_hosts"
# In a capability: every host, every file.
EVERY = "*"
SECRET_REFERENCE = re.compile(r"\$\{secrets\.([^{}]+)\}")


def secrets_in(config: Any, schema: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the secrets that a configuration names: as `${secrets.NAME}`, or where its schema expects a name."""
    return tuple(dict.fromkeys(_named(config, schema or {})))


def filled_in(text: str, value_of: Callable[[str], str]) -> str:
    """Return a text with the values of the secrets that it names."""
    return SECRET_REFERENCE.sub(lambda match: value_of(match[1]), text)


def configured_claims(claims: Mapping[str, Any], by_config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the claims of a tool under `strands_cli` with those of its configuration, the secrets of both joined."""
    if not by_config:
        return claims
    claimed, added = json_object(claims.get("capabilities")), by_config.get("capabilities") or {}
    capabilities = {**claimed, **added}
    if "secrets" in added:
        declared = claimed.get("secrets")
        names = declared if isinstance(declared, (list, tuple)) else ()
        capabilities["secrets"] = list(dict.fromkeys((*names, *added["secrets"])))
    return {**claims, **by_config, "capabilities": capabilities}


def reached_by(server: McpServer) -> str:
    """Return the command or the address of a server, as it is written; references to secrets stay references.

    Words with spaces are quoted: `sh -c 'rm x'` is not `sh -c rm x`.
    """
    if server.url is not None:
        return server.url
    words = (server.command or "", *server.args)
    return " ".join(words) if all(len(word.split()) == 1 for word in words) else shlex.join(words)


def listed(capability: Any) -> list[Any] | None:
    """Return the entries of a capability; plain `true` means everything, and None is unknown."""
    if isinstance(capability, bool):
        return [EVERY] if capability else []
    return list(capability) if isinstance(capability, (list, tuple)) else None


def _named(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if schema.get("format") == NAME_FORMAT else SECRET_REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _named(item, _below(_below(schema, "properties"), name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _named(item, _below(schema, "items"))


def _below(schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    return json_object(schema.get(word))


# The decision on a tool before policy is asked.
UNDECIDED = decide((), Request(names=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyTool:
    """The shared parts of every kind of planned tool. Nothing is imported for it.

    Attributes:
        name: Its name for the model.
        ref: Its reference in the workflow.
        record: Its description, known without loading it.
        decision: Policy's answer before any argument is known.
        conditional: Rules that hold for some of its calls, depending on their arguments.
        when_reading: The answer for calls that only read (`read_only_when`), where that differs.
        config: Its settings in the workflow.
        config_claims: The claims that its configuration adds (see `configured_claims`).
        sources: Its origins, in the words of a rule.
        depth: How many levels of tools it has below it, its own included; 0 where the workflow does not make it.
        typed_names: Names of the workflow by which the command line may allow it: ids that no installed tool has.
        publisher: The verified publisher of its distribution, in the words of a rule; None is unknown.
    """

    name: str
    ref: str
    record: ToolRecord
    decision: Decision = UNDECIDED
    conditional: tuple[Rule, ...] = ()
    when_reading: Decision | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    config_claims: Mapping[str, Any] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()
    depth: int = 0
    typed_names: tuple[str, ...] = ()
    publisher: str | None = None

    @property
    def distribution(self) -> str:
        """Return the distribution that ships it, or the word for where it comes from otherwise."""
        return self.record.distribution

    @property
    def declared(self) -> ToolRecord | None:
        """Return the record that hook plugins get; None for custom Python."""
        return self.record

    @property
    def claims(self) -> Mapping[str, Any]:
        """Return the claims under `strands_cli`: its own, and those of its configuration."""
        return configured_claims(self.record.strands_cli, self.config_claims)

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Return the capabilities among its claims; an absent word is unknown."""
        return json_object(self.claims.get("capabilities"))

    def secrets(self, claims: Mapping[str, Any] | None = None, *, needed: bool = False) -> tuple[str, ...]:
        """Return the secrets that it asks for: those that it declares, and those that its configuration names.

        Args:
            claims: The declaration of custom Python, which shows when it is imported.
            needed: Whether to omit optional ones, declared as `NAME?`.
        """
        listed = json_object(self._counted(claims or {}).get("capabilities")).get("secrets")
        names = [name for name in listed if isinstance(name, str)] if isinstance(listed, (list, tuple)) else []
        return tuple(name.removesuffix("?") for name in names if not (needed and name.endswith("?")))

    def _counted(self, _claims: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.claims

    @property
    def reading_words(self) -> str:
        """Return which of its calls are allowed since they only read: `method GET or HEAD`; empty if none are."""
        return reading_words(self.record.strands_cli.get("read_only_when")) if self.when_reading is not None else ""

    def decision_words(self) -> str:
        """Return the decision in words: `allow for method GET or HEAD, else ask: the tool is destructive`."""
        words = f"{self.decision.effect}: {self.decision.rule}"
        return f"allow for {self.reading_words}, else {words}" if self.when_reading is not None else words

    def decision_for(self, arguments: Mapping[str, Any]) -> Decision | None:
        """Return policy's answer to a call of which some arguments are known; None if it depends on the others.

        Args:
            arguments: The arguments; an unknown value is None.
        """
        if self.conditional:
            return None
        if self.when_reading is None:
            return self.decision
        claims, schema = self.record.strands_cli, self.record.input_schema or {}
        present = in_present_words(claims.get("earlier"), schema, arguments)
        reads = reads_only(claims.get("read_only_when"), schema, present)
        return None if reads is None else self.when_reading if reads else self.decision

    @property
    def is_composed(self) -> bool:
        """Return whether a call of it leads to calls of other tools."""
        return False

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return the planned tools that it is made of."""
        return ()

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return the key that two mentions of the same tool share, however each is written."""
        record = self.record
        return (self.name, (record.distribution, record.entry, record.ref_name), canonical_json(self.config))

    def names(self) -> tuple[str, ...]:
        """Return every name by which a rule may match it."""
        return (self.record.name,)

    def aliases(self) -> tuple[str, ...]:
        """Return the names that a workflow gives it: its name for the model, and its reference."""
        return (self.name, self.ref)

    @property
    def own_name(self) -> str:
        """Return the name by which a rule may allow it: its name for the model, unless another chose that name."""
        names = self.names()
        if self.name in (*names, *self.typed_names):
            return self.name
        return self.reference if self.reference in names else names[0]

    @property
    def reference(self) -> str:
        """Return its own reference, whatever a workflow calls it."""
        return self.names()[0]

    def all_names(self) -> tuple[str, ...]:
        """Return its names and aliases, each once."""
        return tuple(dict.fromkeys((*self.names(), *self.aliases())))

    def describe(self) -> str:
        """Return where it comes from, for a reader: `strands-tool-files 0.1.0`."""
        return f"{self.distribution} {self.record.version or ''}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledTool(AnyTool):
    """A tool of an installed distribution.

    `member` is its name in a suite or class; only loading tells the members of some.
    """

    member: str | None = None

    @property
    def reference(self) -> str:
        """Return its own reference, with the distribution."""
        record = self.record
        member = f".{self.member}" if record.members is None and self.member else ""
        return f"native:{record.distribution}/{record.ref_name}{member}"

    def names(self) -> tuple[str, ...]:
        """Return its name with and without `native:` and distribution; a member answers to the suite's names too.

        The last ones are those of its family. A tool that a project adopts answers to its own name, not to an alias.
        """
        record = self.record
        # The name of an adopted tool in a project is a word of the project's author, which loosens nothing.
        by_project = record.adopted is not None and record.adopted.level == "project"
        entry = record.adopted.called if record.adopted and by_project else record.parent or record.name
        parts = [f"{entry}.{record.name}", entry] if record.parent else [entry]
        if record.members is None and self.member:
            parts.append(f"{parts[0]}.{self.member}")
        qualified = [f"{record.distribution}/{name}" for name in parts]
        names = (record.name if record.parent else entry, *parts, *(f"native:{name}" for name in parts), *qualified)
        return tuple(dict.fromkeys((*names, *(f"native:{name}" for name in qualified), *record.family_names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectTool(AnyTool):
    """A Python object of the program that runs the workflow."""

    sources: frozenset[str] = frozenset({"object"})


# The name of the tool that loads the definitions of the other ones of its agent; with more tools than these, `auto`
# adds it: docs/explanation/memory-and-context.md has the figures.
FINDER, AUTO_ABOVE = "find_tool", 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FinderTool(ObjectTool):
    """The program's own tool `find_tool`; no rule is about it, since it touches nothing but the agent's own tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTool(AnyTool):
    """Python that the workflow names by module and that no distribution ships; its record knows only the place.

    `folder` is that of the workflow's `python_path` in which Python finds it; None if it finds it without.
    """

    sources: frozenset[str] = frozenset({"custom"})
    folder: str | None = None

    @property
    def reference(self) -> str:
        """Return its canonical reference, as allowlists have it."""
        return self.record.entry

    @property
    def declared(self) -> ToolRecord | None:
        """Return None: nothing is declared."""
        return None

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return the key that two mentions of the same tool share."""
        return (self.name, (self.ref,), canonical_json(self.config))

    def _counted(self, claims: Mapping[str, Any]) -> Mapping[str, Any]:
        return configured_claims(claims, self.config_claims)

    def names(self) -> tuple[str, ...]:
        """Return its reference in both spellings."""
        return tuple(dict.fromkeys((self.reference, self.reference.replace(":", "."))))

    def describe(self) -> str:
        """Return the words for Python without a distribution."""
        return "custom Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool(AnyTool):
    """A tool of an MCP server, or all of its tools.

    `member` is the server's own name for the tool; None means all of them, known after its start.
    """

    server: McpServer
    member: str | None = None
    sources: frozenset[str] = frozenset({"mcp"})

    def names(self) -> tuple[str, ...]:
        """Return `mcp:SERVER/TOOL` and `mcp:SERVER`."""
        whole = f"mcp:{self.server.id}"
        return (f"{whole}/{self.member}", whole) if self.member else (whole,)

    def aliases(self) -> tuple[str, ...]:
        """Return its name for the model, its reference, and the bare names of server and tool."""
        return (self.name, self.ref, self.server.id, *([self.member] if self.member else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class LateTool(AnyTool):
    """A tool that another one has registered with its agent during the run, or a name that no tool has."""

    sources: frozenset[str] = frozenset({LATE})

    @property
    def declared(self) -> ToolRecord | None:
        """Return None: nothing is declared."""
        return None

    def names(self) -> tuple[str, ...]:
        """Return `late:NAME`, the only name by which a rule allows it."""
        return (f"{LATE}:{self.record.name}",)

    @property
    def own_name(self) -> str:
        """Return the name by which a rule allows it."""
        return self.names()[0]

    @property
    def reference(self) -> str:
        """Return its name, and which tool has registered it."""
        return f"{self.own_name} {self.distribution}"


# A planned tool, or a call of it, as policy sees it.


def request_of(
    tool: AnyTool,
    *,
    annotations: Mapping[str, Any] | None = None,
    claims: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    read_only_now: bool = False,
) -> Request:
    """Return the question to policy about a tool.

    Args:
        annotations: Its MCP hints as loaded; those of its record where it is not loaded.
        claims: Its `strands_cli` object as loaded, likewise.
        arguments: Those of a call, with defaults filled in; None before there is one.
        read_only_now: Whether these arguments only read.
    """
    record = tool.record
    names = tool.names()
    return Request(
        names=names,
        annotations=annotations if annotations is not None else record.annotations,
        claims=configured_claims(claims if claims is not None else record.strands_cli, tool.config_claims),
        read_only_now=read_only_now,
        distribution=tool.distribution if isinstance(tool, (InstalledTool, McpTool)) else None,
        version=record.version,
        sources=tool.sources,
        arguments=arguments,
        custom=tool.reference if isinstance(tool, PythonTool) else None,
        custom_folder=tool.folder if isinstance(tool, PythonTool) else None,
        aliases=tuple(name for name in tool.all_names() if name not in names),
        typed_names=tool.typed_names,
        composed=tool.is_composed,
        publisher=tool.publisher,
    )
