"""How DBOS stores what it is given: as JSON, never as pickle, which runs code when it is read."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from dbos import Serializer

NAME = "strands_json"


class JsonSerializer(Serializer):
    """Stores JSON values, times as ISO 8601, and of an exception its words."""

    def serialize(self, data: Any) -> str:
        """Return the text of a value."""
        return json.dumps(data, default=_as_json)

    def deserialize(self, serialized_data: str) -> Any:
        """Return the value of a text; a time stays text."""
        return json.loads(serialized_data)

    def name(self) -> str:
        """Return the name that DBOS stores with each text."""
        return NAME


def _as_json(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else f"{type(value).__name__}: {value}"
