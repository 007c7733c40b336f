"""`SourceTool`: the definition of a tool in its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from strands_cli.catalog.manifest import MANY, WORDS, Manifest
from strands_cli.errors import Code, Finding, Where, did_you_mean
from strands_cli.metadata import HINTS
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import json_object

# The words of a tool spec besides the SDK's own: each works, at the top or under `strands_cli`, or is reported.


TOOL_WORD = Code(
    "tool-word",
    "A tool states something in a word, or a form, that means nothing.",
    "Use a word of `strands explain manifest`, or remove it.",
)

# Fields of the manifest that a list of tools shows; in Python they are beside the others.
CATALOGUE = Manifest.CATALOGUE
_OF_THE_SDK = ("name", "description", "inputSchema", "outputSchema", "annotations", "strands_cli")
# Other words for the same, with the conversion of the value.
_OTHER_WORDS = {"requires_consent": "requires_confirmation", "timeout": "timeout_s", "timeout_ms": "timeout_s"}
CLAIMS, HINT_WORDS = WORDS["strands_cli"], WORDS["annotations"]
Words = Mapping[str, Any]
_KINDS: Mapping[type, str] = {
    str: "a string",
    dict: "a mapping",
    list: "a list",
    bool: "True or False",
    int: "a number",
    float: "a number",
}


def normal_spec(spec: Words) -> dict[str, Any]:
    """Return a spec with each known word in its place: hints, claims under `strands_cli`, catalogue fields on top.

    A word under `strands_cli` is stronger than the same at the top; unknown words stay where they are.
    """
    hints, claims = dict(json_object(spec.get("annotations"))), dict[str, Any]()
    normal = {word: value for word, value in spec.items() if word in _OF_THE_SDK or not _is_known(word)}
    for word, value in _stated(spec):
        name, value = _meaning(word, value)
        if name in CATALOGUE:
            normal[name] = value
        elif name in HINT_WORDS:
            hints.setdefault(name, value)
        else:
            # Another value than true or false is not a promise that no person needs to confirm.
            claims[name] = True if name == "requires_confirmation" and not isinstance(value, bool) else value
    places = {"annotations": hints, "strands_cli": claims}
    return normal | {key: words for key, words in places.items() if words or key in spec}


def meaningless_words(spec: Words) -> list[tuple[str, str | None]]:
    """Return each word of a spec without a meaning, and its replacement if that is known."""
    faults: list[tuple[str, str | None]] = []
    own = json_object(spec.get("strands_cli"))
    for word, value in [*((w, v) for w, v in spec.items() if w not in _OF_THE_SDK), *own.items()]:
        name, value_meant = _meaning(str(word), value)
        kind = {
            **CLAIMS,
            **HINT_WORDS,
            **{catalogue_word: WORDS["tool"][catalogue_word] for catalogue_word in CATALOGUE},
        }.get(name)
        if kind is None:
            close = did_you_mean(str(word), [*CLAIMS, *CATALOGUE, *HINTS, *_OTHER_WORDS])
            faults.append((str(word), f"did you mean `{close}`?" if close else None))
        elif not isinstance(value_meant, kind) or (isinstance(value_meant, bool) and kind is not bool):
            meant_kind = kind[0] if isinstance(kind, tuple) else kind
            counts = "it counts as True; " if name == "requires_confirmation" else ""
            faults.append((str(word), f"{counts}give it {_KINDS[meant_kind]}: strands explain manifest"))
    return faults


def with_metadata(spec: Words, metadata: Words) -> dict[str, Any]:
    """Return a spec over the words of `@tool_metadata`, as the parts `annotations` and `strands_cli` of a spec."""
    if not any(metadata.values()):
        return dict(spec)
    normal = normal_spec(spec)
    own = {word: normal.pop(word) for word in CATALOGUE if word in normal}
    claims = {**metadata["strands_cli"], **json_object(normal.get("strands_cli")), **own}
    hints = {**metadata["annotations"], **json_object(normal.get("annotations"))}
    return {**normal, "annotations": hints, "strands_cli": claims}


def catalogue_of(fields: Words) -> dict[str, Any]:
    """Return the catalogue fields with the type of the manifest's, as a record has them."""
    sound = {name: value for name, value in fields.items() if isinstance(value, WORDS["tool"][name])}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in sound.items()}


def _stated(spec: Words) -> Iterator[tuple[str, Any]]:
    """Yield the known words at the top, then all words under `strands_cli`."""
    yield from ((word, value) for word, value in spec.items() if word not in _OF_THE_SDK and _is_known(word))
    yield from json_object(spec.get("strands_cli")).items()


def _is_known(word: Any) -> bool:
    return word in CLAIMS or word in CATALOGUE or word in HINTS or word in HINT_WORDS or word in _OTHER_WORDS


def _meaning(word: str, value: Any) -> tuple[str, Any]:
    name = HINTS.get(word) or _OTHER_WORDS.get(word, word)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return name, value / 1000 if word == "timeout_ms" and is_number else value


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
        meaningless: The words without effect, each with its replacement.
        module: The module that defines it.
        attribute: The name in the module that loads it; None where the module itself is the tool.
        unknown: Why its definition is known only after loading, a phrase for each reason; empty if the source shows it.
        is_inferred: Whether its input schema comes from its signature, and is not written out.
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
        """The tool without input schemas inferred from signatures."""
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
