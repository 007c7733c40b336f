"""Reads and writes YAML with the library's parser in C, which takes a tenth of the time of the one in Python."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read_yaml(text: str | bytes) -> Any:
    return yaml.load(text, _LOADER)


def write_yaml(value: Any, *, sort_keys: bool = True, allow_unicode: bool = False) -> str:
    return str(yaml.dump(value, Dumper=_DUMPER, sort_keys=sort_keys, allow_unicode=allow_unicode))
