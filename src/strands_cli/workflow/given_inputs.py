"""Inputs as `keep_texts` and `absent` have them: texts that stay texts, and optional inputs that are not defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.workflow.coercion import type_word_of
from strands_cli.workflow.sections import Inputs, InputSpec
from strands_cli.workflow.templates.given_values import Absent, given_value


class _KeptText(InputSpec):
    """An input whose text must read as its type, and stays as it is."""

    def coerced(self, value: Any) -> Any:
        """Return a text as it is, and any other value as its declared type."""
        typed = super().coerced(value)
        return value if isinstance(value, str) else typed


class _GivenInputs(Inputs):
    """The variables of a run, which its templates see as they were given."""

    def read_fixed(self, name: str, text: str) -> Any:
        """Return a text that replaces a fixed value: as it is with `keep_texts`."""
        return text if self.keep_texts else super().read_fixed(name, text)

    def names_of(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values as templates see them."""
        types = {name: type_word_of(value) for name, value in self.values.items() if value is not None}
        types |= {name: one.type for name, one in self.declared().items()}
        return {name: self._seen(name, value, types.get(name, "string")) for name, value in values.items()}

    def _seen(self, name: str, value: Any, word: str) -> Any:
        if value is None and name in self.optional and self.absent == "undefined":
            return Absent(name=name)
        return given_value(value, word) if isinstance(value, str) and self.keep_texts else value


def as_given(inputs: Inputs) -> Inputs:
    """Return the inputs of a workflow with what their `keep_texts` and `absent` say."""
    fields = {name: getattr(inputs, name) for name in type(inputs).model_fields}
    if inputs.keep_texts:
        fields["required"] = {name: _kept(one) for name, one in inputs.required.items()}
        fields["optional"] = {name: _kept(one) for name, one in inputs.optional.items()}
    return _GivenInputs.model_construct(inputs.model_fields_set, **fields)


def _kept(declared: InputSpec) -> InputSpec:
    if type(declared) is not InputSpec:  # one that a schema describes
        return declared
    fields = {name: getattr(declared, name) for name in InputSpec.model_fields}
    return _KeptText.model_construct(declared.model_fields_set, **fields)
