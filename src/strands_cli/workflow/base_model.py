"""The base of all models of the workflow format: frozen, without unknown keys and without `x-*` notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
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
    """Return what reads a value with the validator of a model that is asked for, and built, where a file has one."""

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
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return {key: item for key, item in value.items() if item is not None or key not in known}
