"""`SourceTool`: what the source of a tool shows of its definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from strands_cli.catalog.definitions.definition_check import MANY
from strands_cli.catalog.source.spec_words import CATALOGUE, TOOL_WORD, meaningless_words, normal_spec
from strands_cli.errors import Finding, Where
from strands_cli.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SourceTool:
    """A tool's definition in its source; `None` and `"unknown"` mean that it is known only after loading.

    Attributes:
        name: The name the model sees.
        kind: One of `manifest.KINDS`, or `unknown`.
        file: The file that defines it.
        line: 1-based line of the definition.
        certain: Whether running the code practically cannot change the definition.
        members: As in `ToolRecord`.
        catalogue: The fields that a list of tools shows: `family`, `requires`, `deprecated` and others.
        meaningless: The words that have no effect, each with what to write instead.
        module: The module that defines it.
        attribute: The name in the module that loads it; None where the module itself is the tool.
        unknown: Why its definition is known only after loading, a phrase for each reason; empty if the source shows it.
        is_inferred: Whether its input schema is that of its signature, and not written out.
        computed: The parameters whose default is code.
        needs: The arguments that its class or function needs, so that a workflow cannot make it.
    """

    name: str | None = None
    kind: str = "unknown"
    file: str = ""
    line: int | None = None
    description: str | None = None
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    strands_cli: Mapping[str, Any] = field(default_factory=dict)
    members: tuple[SourceTool, ...] | None = ()
    certain: bool = True
    catalogue: Mapping[str, Any] = field(default_factory=dict)
    meaningless: tuple[tuple[str, str | None], ...] = ()
    module: str = ""
    attribute: str | None = None
    unknown: tuple[str, ...] = ()
    is_inferred: bool = False
    computed: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Its own name; for a class the class's, for a module without a name the module's."""
        return self.name or self.attribute or self.module.rpartition(".")[2]

    @property
    def entry(self) -> str:
        """The object reference, as an entry point has it."""
        return f"{self.module}:{self.attribute}" if self.attribute else self.module

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any], kind: str) -> SourceTool:
        """Read a Strands `ToolSpec`, whose schemas may be under the key `json`."""
        meaningless, spec = tuple(meaningless_words(spec)), normal_spec(spec)
        name, description = spec.get("name"), spec.get("description")
        return cls(
            name=name if isinstance(name, str) else None,
            kind=kind,
            description=description if isinstance(description, str) else None,
            input_schema=_schema(spec.get("inputSchema")),
            output_schema=_schema(spec.get("outputSchema")),
            annotations=_mapping(spec.get("annotations")),
            strands_cli=_mapping(spec.get("strands_cli")),
            catalogue={word: spec[word] for word in CATALOGUE if word in spec},
            meaningless=meaningless,
        )

    @property
    def holds_many(self) -> bool:
        """Whether one entry point of its kind provides several tools."""
        return self.kind in MANY

    @property
    def definition(self) -> dict[str, Any]:
        """Its definition, as a manifest and an adoption file have it, without its name and entry."""
        definition: dict[str, Any] = {
            "kind": self.kind,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": dict(self.annotations),
            "strands_cli": dict(self.strands_cli),
            **self.catalogue,
        }
        if self.members:
            definition["members"] = {member.name or "?": member.definition for member in self.members}
        return definition

    @property
    def literal(self) -> SourceTool:
        """The tool without input schemas that are only inferred from signatures."""
        members = None if self.members is None else tuple(member.literal for member in self.members)
        return replace(self, input_schema=None if self.is_inferred else self.input_schema, members=members)

    @property
    def complete(self) -> bool:
        """Whether the source shows everything that a model needs: it is literal and nothing changes it."""
        if not self.certain or self.is_inferred:
            return False
        if self.holds_many:
            return bool(self.members) and all(member.complete for member in self.members or ())
        return None not in (self.name, self.description, self.input_schema)

    def check_words(self, distribution: str) -> Iterator[Finding]:
        """Yield a finding for each word of the tool and its members that means nothing."""
        where = Where(self.file, self.line) if self.file else None
        # Warnings only: specs that other programs read too have words of their own.
        for word, fix in self.meaningless:
            message = f"{word!r} of the tool '{self.name}' of '{distribution}' means nothing"
            yield Finding(TOOL_WORD, message, where, fix, "warning")
        for member in self.members or ():
            yield from member.check_words(distribution)


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _schema(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("json")
    return dict(inner) if isinstance(inner, Mapping) else dict(value)
