"""Values for inputs: read as the declared type, checked against `enum`."""

from __future__ import annotations

from typing import Any

from strands_cli.workflow.coercion import coerce
from strands_cli.workflow.model import InputSpec


def coerce_input(spec: InputSpec, value: Any) -> Any:
    """Return a value as its input declares it.

    Raises:
        ValueError: The value cannot be read as the type, or `enum` does not list it; the message says which.
    """
    coerced = coerce(spec.type, value)
    if spec.enum is not None and coerced not in spec.enum:
        raise ValueError(f"{value!r} is not one of {', '.join(map(repr, spec.enum))}")
    return coerced
