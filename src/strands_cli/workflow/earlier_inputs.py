"""Inputs of the earlier format: what is given as text stays text, and is checked as the type that is declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.workflow.coercion import coerce, type_word_of
from strands_cli.workflow.sections import Inputs, InputSpec
from strands_cli.workflow.templates.template import Templates


class _AsGiven(InputSpec):
    """An input whose text must read as its type, and stays as it is."""

    def coerced(self, value: Any) -> Any:
        """Return a text as it is, and any other value as its declared type."""
        typed = super().coerced(value)
        return value if isinstance(value, str) else typed


class _EarlierInputs(Inputs):
    """The variables of a run, in whose templates a text is what was given."""

    def read_fixed(self, name: str, text: str) -> Any:
        """Return a text that replaces a fixed value: as it is."""
        return text

    def names_of(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values as templates see them; what is optional and has no value is not defined."""
        types = {name: type_word_of(value) for name, value in self.values.items() if value is not None}
        types |= {name: one.type for name, one in self.declared().items()}
        absent = {name for name, value in values.items() if value is None and name in self.optional}
        return {
            name: Templates.absent(name)
            if name in absent
            else Templates.given(value, types.get(name, "string"))
            if isinstance(value, str)
            else value
            for name, value in values.items()
        }


def as_given(inputs: Inputs) -> Inputs:
    """Return inputs of the earlier format: one with a default need not be given."""
    fields = {name: getattr(inputs, name) for name in type(inputs).model_fields}
    required, optional = (
        {name: _as_given(one) for name, one in fields[part].items()} for part in ("required", "optional")
    )
    usual = {name: one for name, one in required.items() if one.default is not None}
    needed = {name: one for name, one in required.items() if name not in usual}
    return _EarlierInputs.model_construct(**{**fields, "required": needed, "optional": {**usual, **optional}})


def _as_given(declared: InputSpec) -> InputSpec:
    if type(declared) is not InputSpec:  # one that a schema describes
        return declared
    return _AsGiven.model_construct(
        declared.model_fields_set, **{name: getattr(declared, name) for name in InputSpec.model_fields}
    )


def typed(inputs: Mapping[str, InputSpec], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as their declared types, for a schema that is about all of them."""
    return {
        name: coerce(inputs[name].type, value) if isinstance(value, str) and name in inputs else value
        for name, value in values.items()
    }
