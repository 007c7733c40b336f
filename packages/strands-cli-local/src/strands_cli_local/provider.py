"""The entry of strands-cli: the provider `local`, as data checked without the SDK and the runtime."""

from __future__ import annotations

from typing import Any

from strands_cli.api import Provider

_NUMBER = {"type": "number", "minimum": 0}
_COUNT = {"type": "integer", "minimum": 1}
OPTIONS: dict[str, dict[str, Any]] = {
    "context": {"type": "integer", "minimum": 64},
    "parallel": _COUNT,
    "threads": _COUNT,
    "gpu_layers": {"type": "integer", "minimum": 0},
    "seed": {"type": "integer", "minimum": 0},
    "top_k": {"type": "integer", "minimum": 0},
    "min_p": _NUMBER,
    "repeat_penalty": _NUMBER,
    "tool_calls": {"enum": ["template", "grammar"]},
    "check_memory": {"type": "boolean"},
}
PROVIDER = Provider(
    "local",
    "A GGUF file, run by llama.cpp in the process of the run",
    make="strands_cli_local.local_model:LocalModel",
    modules=("xllamacpp",),
    places={name: (name,) for name in ("model_id", "temperature", "top_p", "max_tokens")},
    options=frozenset(OPTIONS),
    option_schemas=OPTIONS,
    reads=frozenset(),
)
