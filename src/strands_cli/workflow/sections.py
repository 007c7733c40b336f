"""The sections of a workflow other than its pattern: runtime, inputs, environment, agents, outputs and security."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from strands_cli.default_parts import DEFAULTS, SECRETS
from strands_cli.errors import suggest
from strands_cli.texts.canonical_json import strict_json

# The base of all models of the workflow format: frozen, without unknown keys and without `x-*` notes.


IDENTIFIER = r"^[A-Za-z0-9._:-]+$"
NOTE_PREFIX = "x-"

T = TypeVar("T")
Identifier = Annotated[str, Field(pattern=IDENTIFIER)]
Scalar = str | bool | int | float | None


def without_notes(value: Any) -> Any:
    """Return a mapping without its `x-*` keys, which are the author's notes; other values unchanged."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if not key.startswith(NOTE_PREFIX)}


# A mapping whose keys are names that the author gives to parts of the workflow: agents, nodes, routes, inputs.
Named = Annotated[Mapping[Identifier, T], BeforeValidator(without_notes)]


def read_when_met(model: Callable[[], type[BaseModel]]) -> CoreSchema:
    """Return a schema that reads a value with a model, built only when a file has such a value."""

    def read(value: Any, info: ValidationInfo) -> Any:
        return model().model_validate(value, context=info.context)

    return core_schema.with_info_plain_validator_function(read)


class ReadByItself:
    """The mark of a section that most files do not have: its validator is built when one has it, not with the root's.

    The locations of errors and the JSON Schema are those of the model itself.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return read_when_met(lambda: self._model)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # Inside another schema it stays one of the definitions, and is not written out at each place.
        return handler(core_schema.definitions_schema(TypeAdapter[Any](self._model).core_schema, []))


class FormatModel(BaseModel):
    """One object of the format; keys that start with `x-` are the author's notes and are ignored."""

    # The root's validator contains those of nested models; compiling each by itself too would double the start-up.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        defer_build=True,
        populate_by_name=True,
        coerce_numbers_to_str=True,
        protected_namespaces=(),
    )

    # Lists whose absence means "no restriction": an empty key in a file must not silently lift one.
    restricting: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _read_keys(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return cls.expand(value)
        keys = without_notes(value)
        if info.context:
            keys = cls._read_document_keys(keys)
        return cls.expand(keys)

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Turn a short form of the format into the full object; most models have none."""
        return value

    @classmethod
    def _read_document_keys(cls, value: dict[str, Any]) -> dict[str, Any]:
        """Read an empty key (`tags:`) as absent, and refuse names that exist only in Python (`as_`)."""
        for name, field in cls.model_fields.items():
            if field.alias and field.alias != name and name in value:
                raise PydanticCustomError("unknown_key", "{key}", {"key": name})
            if name in cls.restricting and value.get(name, ()) is None:
                raise PydanticCustomError("empty_list", "{key}", {"key": name})
        known_keys = {field.alias or name for name, field in cls.model_fields.items()}
        return {key: item for key, item in value.items() if item is not None or key not in known_keys}


# How a value is read as one of the six type words of inputs.


_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def type_word_of(value: Any) -> str:
    """Return the type word of a JSON value other than null (`true` is a boolean, not an integer)."""
    words: tuple[tuple[type, str], ...] = (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (tuple, "array"),
    )
    return next((word for kind, word in words if isinstance(value, kind)), "object")


def coerce(word: str, value: Any) -> Any:
    """Return a value as the type word asks; text is read as the type, since `--var` gives only text.

    Raises:
        ValueError: The value cannot be read so.
    """
    actual = type_word_of(value) if value is not None else "null"
    if word == "string":
        if actual in ("string", "integer", "number"):
            return str(value)
        if actual == "boolean":
            return "true" if value else "false"
    elif actual == word or (word == "number" and actual == "integer"):
        return value
    elif word == "integer" and actual == "number" and float(value).is_integer():
        return int(value)
    elif actual == "string":
        return _from_text(word, value)
    article = "an" if word[0] in "aeiou" else "a"
    raise ValueError(f"{value!r} is not {article} {word}")


def _from_text(word: str, text: str) -> Any:
    if word == "boolean":
        if text.strip().lower() in _TRUE | _FALSE:
            return text.strip().lower() in _TRUE
        raise ValueError(f"{text!r} is not a boolean (true or false)")
    try:
        value = strict_json(text)
    except (ValueError, RecursionError):
        value = None
    if (
        isinstance(value, str)
        or value is None
        or (type_word_of(value) != word and (word, type_word_of(value)) != ("number", "integer"))
    ):
        how = " in JSON" if word in ("array", "object") else ""
        raise ValueError(f"{text!r} is not {'an' if word[0] in 'aeiou' else 'a'} {word}{how}")
    return value


TypeWord = Literal["string", "number", "integer", "boolean", "array", "object"]


class Metadata(FormatModel):
    """Description of the workflow for people and catalogues."""

    name: str | None = Field(
        default=None, description="A title for people; `name` at the top level identifies the workflow."
    )
    description: str | None = Field(default=None, description="What the workflow is for.")
    labels: Mapping[str, Scalar] = Field(default_factory=dict, description="Free key-value labels.")


class Budgets(FormatModel):
    """Limits of one run; at a limit the run stops with exit code 20 and keeps its partial results."""

    max_steps: int | None = Field(default=None, ge=1, description="Most steps the run may execute.")
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens, input and output together.")
    max_model_calls: int | None = Field(default=None, ge=1, description="Most model calls.")
    max_tool_calls: int | None = Field(default=None, ge=0, description="Most tool calls.")
    max_cost_usd: float | None = Field(
        default=None, gt=0, description="Most money, in US dollars; the model must have a price."
    )
    max_duration_s: float | None = Field(default=None, gt=0, description="Longest time, in seconds.")
    warn_threshold: float = Field(default=0.8, gt=0, le=1, description="Share of a limit at which a warning is given.")


class FailurePolicy(FormatModel):
    """How often, and after which waits, a failed model call is tried again."""

    retries: int = Field(default=2, ge=0, description="How often a failed call is repeated.")
    backoff: Literal["constant", "exponential", "jittered"] = Field(
        default="exponential", description="How waits grow."
    )
    wait_min: float = Field(default=1, ge=0, description="Shortest wait between tries, in seconds.")
    wait_max: float = Field(default=60, ge=0, description="Longest wait between tries, in seconds.")


# The tools whose definitions a model sees from the start.
ToolsShown = Annotated[
    Literal["all", "deferred", "auto"] | tuple[Identifier, ...],
    BeforeValidator(lambda value: _word_of(value, ("all", "deferred", "auto"))),
]


def _word_of(value: Any, words: tuple[str, ...]) -> Any:
    """Return a value of another type than text, or one of these words."""
    if isinstance(value, (str, bool)) and value not in words:
        raise PydanticCustomError("literal_error", "not a word", {"expected": ", ".join(words)})
    return value


class Loops(FormatModel):
    """What happens to an agent that makes the same calls with the same results, turn after turn; `off`: nothing.

    A turn with another call, or another result of one, begins the count again.
    """

    hint_after: Annotated[int, Field(ge=2)] | Literal["off"] = Field(
        default=3, description="After so many times the result has a hint to the model."
    )
    stop_after: Annotated[int, Field(ge=2)] | Literal["off"] = Field(
        default=6, description="After so many times the agent is stopped if it goes on, with exit code 22."
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read `off` as both."""
        value = _word_of(value, ("off",))
        return {"hint_after": value, "stop_after": value} if value == "off" else value


# The failures on which another model goes on with a call.
Failure = Literal["down", "throttled", "context"]


class ModelEntry(FormatModel):
    """One model of `models`; a text means `model`."""

    model: str | None = Field(
        default=None, min_length=1, description="PROVIDER/MODEL or an alias, in place of `provider` and `model_id`."
    )
    provider: str | None = Field(default=None, min_length=1, description="Who serves the model.")
    model_id: str | None = Field(default=None, description="The provider's name of the model.")
    region: str | None = Field(default=None, description="Cloud region, for providers that have regions.")
    host: str | None = Field(default=None, description="Base URL of the provider's server.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="Sampling temperature.")
    top_p: float | None = Field(default=None, ge=0, le=1, description="Nucleus sampling.")
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens of one answer.")
    options: Mapping[str, Any] | None = Field(default=None, description="Further options, by the provider's names.")
    on: tuple[Failure, ...] = Field(
        default=("down", "throttled"),
        min_length=1,
        description="The failures of the model before it on which this one goes on: `down` (no answer after all "
        "retries), `throttled` (too many requests, or no credit), `context` (a prompt that is too long).",
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read a text as the name of a model."""
        return {"model": value} if isinstance(value, str) else value

    def split(self) -> ModelEntry:
        """Return it with provider and model apart, where a variable had both."""
        provider, slash, model_id = (self.provider or "").partition("/")
        return self.model_copy(update={"provider": provider, "model_id": model_id}) if slash else self


class Runtime(FormatModel):
    """The default model, and the limits of the run.

    `provider`, `model_id`, `region` and `host` may contain `${NAME}` and `${NAME:-default}`: environment variables.
    """

    provider: str = Field(
        default="", description="Who serves the model, for example `openai`, `bedrock`, `ollama`, `replay`."
    )
    model_id: str | None = Field(default=None, description="The provider's name of the model.")
    region: str | None = Field(default=None, description="Cloud region, for providers that have regions.")
    host: str | None = Field(default=None, description="Base URL of the provider's server.")
    temperature: float | None = Field(default=None, ge=0, le=2, description="Sampling temperature.")
    top_p: float | None = Field(
        default=None, ge=0, le=1, description="Nucleus sampling: share of probability considered."
    )
    max_tokens: int | None = Field(default=None, ge=1, description="Most tokens of one answer.")
    options: Mapping[str, Any] = Field(
        default_factory=dict, description="Further options of the provider, by its names."
    )
    max_parallel: int = Field(default=5, ge=1, description="Most steps at the same time.")
    budgets: Budgets = Field(default_factory=Budgets.model_construct, description="Limits of one run.")
    failure_policy: FailurePolicy = Field(
        default_factory=FailurePolicy.model_construct, description="Retries of model calls."
    )
    loops: Annotated[Loops, ReadByItself(Loops)] | None = Field(
        default=None, description="Agents that repeat their calls."
    )
    models: tuple[Annotated[ModelEntry, ReadByItself(ModelEntry)], ...] = Field(
        default=(),
        description="In place of `provider` and `model_id`: the model, and those that go on with a call when the ones"
        " before them are down; each PROVIDER/MODEL, an alias or an object.",
    )
    tools_shown: ToolsShown | None = Field(
        default=None,
        description="Definitions that a model sees: `all`; `deferred`: it loads them by `find_tool`; names of those"
        " always shown; `auto` (default): deferred above 40 tools.",
    )
    recording: str | None = Field(
        default=None, description="The recording that provider `replay` plays, beside the workflow."
    )


class InputSpec(FormatModel):
    """One input variable; `string` alone means `{type: string}`; other types likewise."""

    type: TypeWord = Field(default="string", description="The type of values; if not given, that of the default.")
    description: str | None = Field(default=None, description="What to give; shown when a value is asked for.")
    default: Any = Field(default=None, description="The value used when none is given.")
    enum: tuple[Any, ...] | None = Field(default=None, min_length=1, description="The only values allowed.")

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Read a type word or nothing as a full declaration, and take a missing type from the default."""
        if value is None or isinstance(value, str):
            return {"type": value or "string"}
        if not isinstance(value, dict):
            return value
        if "type" not in value and value.get("default") is not None:
            value = {**value, "type": type_word_of(value["default"])}
        return {**value, **_as_declared(value)}

    def coerced(self, value: Any) -> Any:
        """Return a value as its declared type.

        Raises:
            ValueError: The value cannot be read as the type, or `enum` does not list it.
        """
        result = coerce(self.type, value)
        if self.enum is None or result in self.enum:
            return result
        hint = suggest(str(result), map(str, self.enum))
        allowed = ", ".join(map(repr, self.enum))
        raise ValueError(f"{value!r} is not one of {allowed}" + (f"; {hint}" if hint else ""))


def _as_declared(value: dict[str, Any]) -> dict[str, Any]:
    """Return default and enum of a declaration as its type reads them; values of another type stay for the checks."""

    def read(item: Any) -> Any:
        try:
            return coerce(str(value.get("type", "string")), item)
        except ValueError:
            return item

    read_as = {"default": read(value["default"])} if value.get("default") is not None else {}
    if isinstance(value.get("enum"), list):
        read_as["enum"] = [read(item) for item in value["enum"]]
    return read_as


class Inputs(FormatModel):
    """The variables of a run; every template can use their names."""

    required: Named[InputSpec] = Field(default_factory=dict, description="Variables that must be given.")
    optional: Named[InputSpec] = Field(default_factory=dict, description="Variables that may be given.")
    values: Mapping[str, Scalar] = Field(
        default_factory=dict, description="Variables with fixed values; `--var` overrides them."
    )
    keep_texts: bool = Field(
        default=False,
        description="Whether a value given as text prints as that text, whatever its type.",
    )
    absent: Literal["none", "undefined"] = Field(
        default="none", description="An optional variable without value and default."
    )
    allow_undeclared: bool = Field(default=False, description="Whether undeclared names are accepted, with a warning.")

    def declared(self) -> dict[str, InputSpec]:
        """Return required and optional inputs by name."""
        return {**self.optional, **self.required}

    def declared_as(self, name: str) -> InputSpec | None:
        """Return the declaration of one input."""
        return self.required.get(name) or self.optional.get(name)

    def read_fixed(self, name: str, text: str) -> Any:
        """Return a text that replaces a fixed value as the type of that value, where it reads as one."""
        fixed = self.values.get(name)
        try:
            return text if fixed is None else coerce(type_word_of(fixed), text)
        except ValueError:
            return text

    def names_of(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of a run as its templates see them."""
        return values


def _known_source(name: str) -> str:
    """Return the name of an existing source of secrets; nothing is imported."""
    if name not in DEFAULTS[SECRETS]:
        from strands_cli.parts.named_parts import names_in

        if name not in (names := names_in(SECRETS)):
            raise PydanticCustomError("literal_error", "not a source", {"expected": ", ".join(names)})
    return name


class Secret(FormatModel):
    """A reference to a secret; its value is removed from prompts, traces, the journal and errors."""

    key: str = Field(min_length=1, description="Name of the secret at its source.")
    name: str | None = Field(default=None, description="Name under which tools ask for it; `key` if not given.")
    source: Annotated[str, AfterValidator(_known_source)] = Field(
        default="env",
        description="Where the value comes from: env, file, command, keyring, secrets_manager, ssm, or a source of an"
        " installed distribution.",
    )
    path: str | None = Field(default=None, description="File, command line or remote path the source needs.")


class Env(FormatModel):
    """Secrets and directories of the machine that a run may use."""

    secrets: tuple[Secret, ...] = Field(default=(), description="Secrets the run may resolve.")
    mounts: Mapping[str, str] = Field(
        default_factory=dict, description="Directories of the file tools besides the working directory, by name."
    )
    take_variables: bool = Field(
        default=False,
        description="Whether a tool gets the variable of a secret that `secrets` does not name.",
    )


class Otel(FormatModel):
    """Where OpenTelemetry spans go."""

    endpoint: str | None = Field(
        default=None, description="URL of a collector that speaks OTLP over HTTP, or `console`."
    )
    service_name: str | None = Field(
        default=None, description="`service.name` of the spans; `OTEL_SERVICE_NAME` if not given."
    )
    sample_ratio: float = Field(default=1.0, ge=0, le=1, description="Share of runs that are traced.")


class Redact(FormatModel):
    """The data that traces omit."""

    tool_inputs: bool = Field(default=True, description="Omit the inputs of tools.")
    tool_outputs: bool = Field(default=False, description="Omit the results of tools.")
    pii: bool = Field(default=False, description="Replace personal data by its kind: mail addresses, card numbers.")
    custom_patterns: tuple[str, ...] = Field(
        default=(),
        description="Replace matches of these regular expressions; a text that takes too long is left out.",
    )


class Telemetry(FormatModel):
    """Traces of a run."""

    otel: Otel | None = Field(default=None, description="OpenTelemetry export; nothing is sent without it.")
    redact: Redact = Field(default_factory=Redact.model_construct, description="What traces omit.")


class Rendering(FormatModel):
    """How templates are rendered."""

    completed: str = Field(
        default="completed",
        min_length=1,
        description="The word for the status `completed`, which is equal to it.",
    )
    control_characters: Literal["keep", "remove"] = Field(
        default="keep", description="Control characters of rendered texts, other than tabs and line ends."
    )


class Artifact(FormatModel):
    """A file written when the run has finished."""

    path: str = Field(min_length=1, description="Where to write, inside the output directory (a template).")
    from_: str = Field(alias="from", description="What to write (a template), for example `{{ last_response }}`.")


class Outputs(FormatModel):
    """The files that a run writes."""

    artifacts: tuple[Artifact, ...] = Field(default=(), description="Files written at the end of the run.")
    plain_paths: bool = Field(
        default=False,
        description="Whether other characters than letters, digits, `_`, `.` and `-` in a path become one `_`, "
        "none at its ends.",
    )
    overwrite: bool = Field(default=False, description="Whether artifacts replace files.")


class Guardrails(FormatModel):
    """Restrictions on every tool call of the run."""

    restricting: ClassVar[frozenset[str]] = frozenset({"allow_tools"})

    deny_network: bool = Field(
        default=False, description="Refuse tools that reach the network, or do not say that they do not."
    )
    pii_redaction: bool = Field(
        default=False, description="Remove personal data from what models see and a run stores and shows."
    )
    allow_tools: tuple[str, ...] | None = Field(default=None, description="The only tools that may be called.")


class Permissions(FormatModel):
    """Rules for tool calls; a workflow can only restrict what the user's policy allows."""

    ask: tuple[str, ...] = Field(
        default=(), description="Calls a person must confirm, for example `file_write(path=docs/**)`."
    )
    deny: tuple[str, ...] = Field(default=(), description="Calls that are refused.")


class Security(FormatModel):
    """Restrictions that the workflow sets for its own runs."""

    guardrails: Guardrails = Field(
        default_factory=Guardrails.model_construct, description="Restrictions on every tool call."
    )
    permissions: Permissions = Field(default_factory=Permissions.model_construct, description="Rules for tool calls.")
