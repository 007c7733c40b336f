"""The arguments of a call as typed fields, one for each property of its schema, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from strands_cli.api import UsageError, printable
from strands_cli_ui.frame.ui_forms import field_of, text_of

_NAME = "argument."


def argument_fields(question: Mapping[str, Any]) -> str:
    """Return a field for each argument of the call that a question is about."""
    properties, required, values = _properties(question), _required(question), _values(question)
    return "".join(
        field_of(f"{_NAME}{name}", name, schema, is_required=name in required, value=values.get(name))
        for name, schema in properties.items()
    )


def changed_arguments(question: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the arguments in the fields of a form; None where they are those of the proposed call.

    Raises:
        UsageError: A text does not fit the type of its argument.
    """
    properties, values, arguments = _properties(question), _values(question), dict[str, Any]()
    for name, schema in properties.items():
        text = fields.get(f"{_NAME}{name}")
        if text is None or (text == "" and (name not in values or schema.get("type") != "string")):
            continue
        arguments[name] = (
            values[name] if text == text_of(values.get(name)) and name in values else _read(name, schema, text)
        )
    proposed = (question.get("call") or {}).get("arguments")
    return None if not arguments or json.dumps(arguments) == json.dumps(proposed) else arguments


def _read(name: str, schema: Mapping[str, Any], text: str) -> Any:
    choices = {text_of(value): value for value in schema.get("enum") or ()}
    if text in choices:
        return choices[text]
    if schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        if "type" not in schema:  # any value; without JSON it is a text
            return text
        kind = printable(str(schema["type"]))
        raise UsageError(
            f"{printable(name)} does not fit the type {kind}: {error}", fix="go back and correct it, as JSON"
        ) from error


def _schema(question: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = question.get("schema")
    return schema if isinstance(schema, Mapping) else {}


def _properties(question: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the schema of each argument that the tool or the call has."""
    stated = _schema(question).get("properties")
    known = dict(stated) if isinstance(stated, Mapping) else {}
    names = dict.fromkeys([*known, *_values(question)])
    return {name: kind if isinstance(kind := known.get(name), Mapping) else {} for name in names}


def _required(question: Mapping[str, Any]) -> list[Any]:
    required = _schema(question).get("required")
    return required if isinstance(required, list) else []


def _values(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of the call; where a change of a person was refused, the changed ones."""
    values = question.get("tried") or (question.get("call") or {}).get("arguments")
    return values if isinstance(values, Mapping) else {}
