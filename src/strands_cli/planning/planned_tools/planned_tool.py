"""The kinds of tools that a plan takes from elsewhere: distributions, the program, custom Python and MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.definitions.earlier_words import in_present_words
from strands_cli.planning.planned_tools.reading_calls import reading_words, reads_only
from strands_cli.planning.planned_tools.tool_config import configured_claims
from strands_cli.policy.decision import Decision, decide
from strands_cli.policy.rules.rule import LATE, Rule
from strands_cli.policy.rules.tool_request import Request
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json, json_object

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.workflow.steps.tool_entries import McpServer

# The decision on a tool before policy is asked.
UNDECIDED = decide((), Request(names=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyTool:
    """What every kind of planned tool has. Nothing is imported for it.

    Attributes:
        name: What the model calls it.
        ref: How the workflow names it.
        record: What is known of it without loading it.
        decision: Policy's answer before any argument is known.
        conditional: Rules that hold for some of its calls, depending on their arguments.
        when_reading: The answer for calls that only read (`read_only_when`), where that differs.
        config: Its settings in the workflow.
        config_claims: The claims that its configuration adds (see `tool_config.configured_claims`).
        sources: How it came to be here, in the words of a rule.
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
        """Return the capabilities among its claims; a word that is absent is not known."""
        return json_object(self.claims.get("capabilities"))

    def secrets(self, claims: Mapping[str, Any] | None = None, *, needed: bool = False) -> tuple[str, ...]:
        """Return the secrets that it asks for: those that it declares, and those that its configuration names.

        Args:
            claims: What custom Python declares, which shows when it is imported.
            needed: Whether to omit those without which it works too, which are declared as `NAME?`.
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
        """Return the decision that is made: `allow for method GET or HEAD, else ask: the tool is destructive`."""
        words = f"{self.decision.effect}: {self.decision.rule}"
        return f"allow for {self.reading_words}, else {words}" if self.when_reading is not None else words

    def decision_for(self, known: Mapping[str, Any]) -> Decision | None:
        """Return policy's answer to a call of which some arguments are known; None if it depends on the others.

        Args:
            known: The arguments; the value of one that is not known is None.
        """
        if self.conditional:
            return None
        if self.when_reading is None:
            return self.decision
        claims, schema = self.record.strands_cli, self.record.input_schema or {}
        present = in_present_words(claims.get("earlier"), schema, known)
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
        """Return what two mentions of the same tool share, however each is written."""
        record = self.record
        return (self.name, (record.distribution, record.entry, record.ref_name), canonical_json(self.config))

    def names(self) -> tuple[str, ...]:
        """Return every name by which a rule may match it."""
        return (self.record.name,)

    def aliases(self) -> tuple[str, ...]:
        """Return the names that a workflow gives it: what the model calls it, and how it is written."""
        return (self.name, self.ref)

    @property
    def own_name(self) -> str:
        """Return the name by which a rule may allow it: what the model calls it, unless another chose that name."""
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
        # What a project calls an adopted tool is a word of the project's author, which loosens nothing.
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
        """Return what two mentions of the same tool share."""
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

    `member` is the server's own name for the tool; None means all of them, which are known after its start.
    """

    server: McpServer
    member: str | None = None
    sources: frozenset[str] = frozenset({"mcp"})

    def names(self) -> tuple[str, ...]:
        """Return `mcp:SERVER/TOOL` and `mcp:SERVER`."""
        whole = f"mcp:{self.server.id}"
        return (f"{whole}/{self.member}", whole) if self.member else (whole,)

    def aliases(self) -> tuple[str, ...]:
        """Return what the model calls it, how it is written, and the bare names of server and tool."""
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
