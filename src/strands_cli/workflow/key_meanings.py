"""Keys that the format does not have, with their meaning: another word, another place, another pattern."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any

from pydantic import Tag

from strands_cli.errors import Edit, clear_edit, did_you_mean
from strands_cli.workflow.pattern_model import PatternModel
from strands_cli.workflow.patterns.pattern_models import PATTERNS, tag_of
from strands_cli.workflow.sections import FormatModel

Loc = tuple[int | str, ...]

# Words of other programs for keys of the format, where no letters are alike.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("depends_on", "dependencies", "needs", "requires", "after"), ("deps",)),
    **dict.fromkeys(("system_prompt", "system", "instructions", "instruction"), ("prompt",)),
    **dict.fromkeys(("prompt_template", "template", "content", "text"), ("prompt", "input", "from")),
    **dict.fromkeys(
        ("prompt", "message", "task", "query", "args", "arguments", "params", "parameters", "with"), ("input",)
    ),
    **dict.fromkeys(("model", "model_name"), ("model_id",)),
    **dict.fromkeys(("name", "key"), ("id", "tool")),
    **dict.fromkeys(("mcp_servers", "servers", "mcpServers"), ("mcp",)),
    **dict.fromkeys(("generator", "writer"), ("producer",)),
    **dict.fromkeys(("worker", "workers"), ("worker_template",)),
    **dict.fromkeys(("critic", "judge", "reviewer"), ("evaluator",)),
    **dict.fromkeys(("aggregator", "join", "merge"), ("reduce",)),
    **dict.fromkeys(("condition", "if"), ("when",)),
    **dict.fromkeys(("target", "goto", "next"), ("to",)),
    **dict.fromkeys(("filename", "file", "destination"), ("path",)),
    **dict.fromkeys(("variables", "environment"), ("vars", "inputs", "env")),
    **dict.fromkeys(("base_url", "endpoint", "api_base"), ("host", "url")),
    **dict.fromkeys(("uses", "function", "action"), ("tool",)),
    **dict.fromkeys(("response_format", "schema", "response_schema"), ("output_schema",)),
    **dict.fromkeys(("files", "images", "documents", "attach"), ("attachments",)),
    "tools": ("tool_overrides",),
    "source": ("from",),
    "steps": ("then",),
    **dict.fromkeys(("retry", "retries"), ("failure_policy",)),
}

# Words of other programs that no key replaces, each with its substitute.
ADVICE = {
    "allow": "a workflow cannot allow its own tools: pass --allow NAME, or name a policy file: --policy FILE",
    "api_key": "remove it, and set the variable of the provider: strands explain live-models",
    "start": "leave it out: a graph starts at its first node",
    "when": "conditions are on the edges of a graph: `choose: [{when: CONDITION, to: NODE}, {when: else, to: OTHER}]`",
    "native": "write `tool: native:NAME`",
}


def advice_on(key: str) -> str | None:
    """Return the substitute for a word that no key replaces, or for the word that it is a synonym of."""
    return next((ADVICE[word] for word in (key, *SYNONYMS.get(key.lower(), ())) if word in ADVICE), None)


# A word less like a key than this means the key of that very name in another section, if there is one.
_SURELY_MEANT = 0.8


def meant_key(key: str, known_keys: Set[str], holder: Mapping[str, Any]) -> str | None:
    """Return the known key that a mistyped one means; of equally close ones, one that its mapping does not have."""
    if synonym := next(
        (synonym_key for synonym_key in SYNONYMS.get(key.lower(), ()) if synonym_key in known_keys - holder.keys()),
        None,
    ):
        return synonym
    close, absent = did_you_mean(key, sorted(known_keys)), did_you_mean(key, sorted(known_keys - holder.keys()))
    return (
        absent
        if absent is not None and close is not None and _likeness(key, absent) >= _likeness(key, close)
        else close
    )


def clear_key(key: str, meant: str | None, known_keys: Set[str], holder: Mapping[str, Any]) -> tuple[Edit, ...]:
    """Return the edit that writes the key that a mistyped one certainly means: by one slip, or the only synonym."""
    synonyms = [word for word in SYNONYMS.get(key.lower(), ()) if word in known_keys - holder.keys()]
    if meant is None or meant in holder or (meant.endswith("_ms") and not key.lower().endswith("ms")):
        return ()
    return (Edit(key, meant),) if synonyms == [meant] else clear_edit(key, known_keys - holder.keys())


# Keys of the three forms of steps.
_OF_STEPS = frozenset({"agent", "tool", "input", "prompt"})


def meant_at(key: str, model: type[FormatModel], loc: Loc, holder: Mapping[str, Any]) -> str | None:
    """Return the key at a place that a mistyped one means; None where it is rather the key of a section below."""
    key_meant = meant_key(key, keys_at(model, loc), holder)
    if key_meant is None or key_meant in SYNONYMS.get(key.lower(), ()) or _likeness(key, key_meant) >= _SURELY_MEANT:
        return key_meant
    return None if section_of(key, model, loc) else key_meant


def _likeness(word: str, known_word: str) -> float:
    from difflib import SequenceMatcher

    return round(SequenceMatcher(None, known_word, word).ratio(), 1)


def meant_pattern(pattern: Any) -> str | None:
    """Return the pattern that a value without a known `type` means: by a similar word, else by the keys it has."""
    if not isinstance(pattern, dict) or str(pattern.get("type")) in PATTERNS:
        return None
    if close := did_you_mean(str(pattern.get("type", "")), PATTERNS.installed()):
        return close
    config = pattern.get("config")
    written = {*pattern, *(config if isinstance(config, dict) else ())}
    fitting = {name: len(written & keys_at(model, ("config",))) for name, model in PATTERNS.items()}
    most = max(fitting.values())
    best = [name for name, count in fitting.items() if count == most]
    return best[0] if most and len(best) == 1 else None


def mistyped_type(pattern: Any) -> str | None:
    """Return the key of a pattern without `type` that means it."""
    if not isinstance(pattern, dict):
        return None
    return next((key for key in pattern if "type" not in pattern and did_you_mean(key, ("type",))), None)


def section_of(key: str, model: type[FormatModel], loc: Loc) -> Loc | None:
    """Return the sections below a place, from the outermost, in the last of which a key belongs; None if in none."""
    if keys_at(model, loc) >= {"required", "optional", "values"}:
        return ("required",)
    if "pattern" in keys_at(model, loc) and any(key in keys_at(pattern, ("config",)) for pattern in PATTERNS.values()):
        return ("pattern", "config")
    return next((path for path in _sections(model, loc, 2) if key in keys_at(model, (*loc, *path))), None)


def steps_below(key: str, model: type[FormatModel], loc: Loc) -> str | None:
    """Return the list at a place in one of whose steps a key belongs; None if there is no such list."""
    keys = keys_at(model, loc)
    return next((name for name in ("steps", "then") if name in keys and key in _OF_STEPS - keys), None)


@lru_cache(maxsize=4096)
def _sections(model: type[FormatModel], loc: Loc, depth: int) -> tuple[Loc, ...]:
    """Return the mappings of fixed keys below a place, the nearest first."""
    inner = [(name,) for name in sorted(keys_at(model, loc)) if _is_section(model, (*loc, name))]
    further = [(*path, *more) for path in inner if depth > 1 for more in _sections(model, (*loc, *path), depth - 1)]
    return (*inner, *further)


def _is_section(model: type[FormatModel], loc: Loc) -> bool:
    return any(isinstance(union, type) and issubclass(union, FormatModel) for union in _unions(places_at(model, loc)))


def _unions(places: list[Any]) -> list[Any]:
    unions = (typing.Union, types.UnionType)
    parts = [
        typing.get_args(annotation) if typing.get_origin(annotation) in unions else (annotation,)
        for annotation in places
    ]
    return [part for group in parts for part in group]


@lru_cache(maxsize=4096)
def keys_at(model: type[FormatModel], loc: Loc) -> frozenset[str]:
    """Return the keys of the object at a location, by walking the models."""
    parts = [part for annotation in places_at(model, loc) for part in _parts_of(annotation)]
    return frozenset(field.alias or name for part in parts for name, field in part.model_fields.items())


def holds_names(model: type[FormatModel], loc: Loc) -> bool:
    """Return whether the object at a location maps names that its author chooses."""
    return any(typing.get_origin(annotation) in (dict, Mapping) for annotation in places_at(model, loc))


def places_at(model: type[FormatModel], loc: Loc) -> list[Any]:
    """Return the types of a location."""
    places: list[Any] = [model]
    for token in loc:
        places = [inner for annotation in places for inner in _children(annotation, token)]
    return places


def _children(annotation: Any, token: int | str) -> list[Any]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is PatternModel:
        return [model for name, model in PATTERNS.items() if token == tag_of(name)]
    if origin is typing.Annotated:
        tags = [item.tag for item in arguments[1:] if isinstance(item, Tag)]
        return [arguments[0]] if token in tags else [] if tags else _children(arguments[0], token)
    if origin in (typing.Union, types.UnionType):
        return [inner for argument in arguments for inner in _children(argument, token)]
    if origin is tuple:
        return [arguments[0]]
    if origin is not None and len(arguments) == 2:
        return [arguments[1]]
    for part in _parts_of(annotation):
        for name, field_ in part.model_fields.items():
            if token == (field_.alias or name):
                return [field_.annotation]
    return []


def _parts_of(annotation: Any) -> list[type[FormatModel]]:
    if isinstance(annotation, type) and issubclass(annotation, FormatModel):
        return [annotation]
    return [part for argument in typing.get_args(annotation) for part in _parts_of(argument)]
