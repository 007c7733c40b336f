"""Checks of a tool without a call, and of one answer; each check yields problems."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from strands_cli.api import (
    Manifest,
    PluginTool,
    first_problem,
    hidden_characters,
    json_object,
    schema_fault,
    shortened,
    texts_of,
)

MAX_DESCRIPTION = 8000
_KINDS = ("text", "json", "image", "document", "video")
# One value of each JSON type; a property that accepts all of them restricts nothing.
_VALUES: tuple[Any, ...] = ({"no such key": []}, [{"no": "such"}], "\u2205 no such word", -0.5, True)


def check_name(tool: PluginTool, *, is_single: bool) -> Iterator[str]:
    """Check a tool's name; a part of a suite may have more forms than the only tool of an entry point."""
    rule = Manifest.TOOL_NAME if is_single else Manifest.MEMBER_NAME
    if not rule.fullmatch(tool.name):
        yield f"{tool.name!r} does not match {rule.pattern}"
    spec_name = tool.spec.get("name")
    if spec_name != tool.name:
        yield f"the tool {tool.name!r} has the name {spec_name!r} in its spec"


def check_description(tool: PluginTool) -> Iterator[str]:
    """Check that a tool has a description for the model, in characters that a person can see."""
    text = tool.spec.get("description")
    if not isinstance(text, str) or not text.strip():
        yield f"{tool.name} has no description"
        return
    if text.strip() == tool.name:
        yield f"{tool.name} has no description: it is the name"
    if len(text) > MAX_DESCRIPTION:
        yield f"the description of {tool.name} has {len(text)} characters, more than {MAX_DESCRIPTION}"
    texts = {
        "description": text,
        "input_schema": tool.input_schema,
        "title": tool.hints.get("title"),
    }
    for pointer, part in texts_of(texts):
        for char in hidden_characters(part):
            yield f"what {tool.name} sends to the model has the invisible character {char} ({pointer})"


def check_schema(tool: PluginTool) -> Iterator[str]:
    """Check that the input schema compiles and describes an object."""
    schema = tool.input_schema
    fault = schema_fault(schema)
    if fault is not None:
        yield f"the input schema of {tool.name} cannot be used: {fault}"
        return
    if schema.get("type") != "object":
        yield f"the input schema of {tool.name} has the type {schema.get('type')!r}, not 'object'"


def check_strictness(tool: PluginTool) -> Iterator[str]:
    """Check that each property refuses something."""
    schema = tool.input_schema
    whole = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    for name, part in (schema.get("properties") or {}).items():
        rule = {**whole, "properties": {name: part}}
        if all(first_problem(rule, {name: value}) is None for value in _VALUES):
            yield f"the property {name!r} of {tool.name} accepts any value"


def input_problem(tool: PluginTool, value: Any) -> str | None:
    """Return why an input schema does not accept an input, or None."""
    return first_problem(tool.input_schema, value)


def check_secrets(secrets: Iterable[str], tools: Mapping[str, PluginTool]) -> Iterator[str]:
    """Check that a run would give each of these secrets to a tool, by their names."""
    declared = {name for tool in tools.values() for name in tool.secrets}
    for name in secrets:
        if name not in declared:
            yield f"no tool declares the secret {name!r} in its capabilities: a run gives it to none"


def check_config(config: Mapping[str, Any], tools: Mapping[str, PluginTool], manifest: Path | None) -> Iterator[str]:
    """Check that a workflow could give these settings to the tools; a manifest that cannot be read states nothing."""
    schemas = {name: tool.spec.get("config_schema") for name, tool in tools.items()}
    with contextlib.suppress(OSError, ValueError, RecursionError):
        listed = json_object(json.loads(manifest.read_bytes())).get("tools") if manifest else None
        stated = [tool for tool in listed or () if isinstance(tool, Mapping) and tool.get("name") in schemas]
        schemas |= {tool["name"]: tool["config_schema"] for tool in stated if tool.get("config_schema")}
    for name, schema in schemas.items():
        problem = first_problem(schema, dict(config)) if config and isinstance(schema, Mapping) else None
        if problem is not None:
            yield f"the config of {name}: {problem}: a run refuses it"


def bad_inputs(tool: PluginTool, good: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield inputs that the schema refuses, made from one that it accepts, with a description of each."""
    schema = tool.input_schema
    for name in schema.get("required") or ():
        yield f"without {name!r}", {key: value for key, value in good.items() if key != name}
    for name in schema.get("properties") or {}:
        for value in _VALUES:
            spoiled = {**good, name: value}
            if first_problem(schema, spoiled) is not None:
                yield f"with {name}={value!r}", spoiled
                break


def check_hints(tool: PluginTool) -> Iterator[str]:
    """Check that the hints that decide about permission are present and consistent."""
    hints, claims = tool.hints, tool.claims
    reads, destroys = hints.get("readOnlyHint"), hints.get("destructiveHint")
    if not isinstance(reads, bool):
        yield f"{tool.name} does not declare whether it is read-only (readOnlyHint)"
    if reads is not True and not isinstance(destroys, bool):
        yield f"{tool.name} does not declare whether it is destructive (destructiveHint)"
    if reads is True and destroys is True:
        yield f"{tool.name} declares both read-only and destructive"
    if reads is True and claims.get("read_only_when") is None:
        yield from (f"{tool.name} declares read-only, and {claim}" for claim in _writes(claims))
    condition = claims.get("read_only_when")
    fault = None if condition is None else schema_fault(condition)
    if fault is not None:
        yield f"read_only_when of {tool.name} cannot be used: {fault}"
    for name in ("timeout_s", "max_output_bytes"):
        limit = claims.get(name)
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit <= 0):
            yield f"{name} of {tool.name} is {limit!r}, not a number above 0"


def _writes(claims: Mapping[str, Any]) -> Iterator[str]:
    if json_object(claims.get("resources")).get("writes"):
        yield "has resources that it writes"
    places = json_object(claims.get("capabilities")).get("filesystem")
    for resource in places if isinstance(places, list) else ():
        if isinstance(resource, Mapping) and "w" in str(resource.get("mode", "")):
            yield f"wants to write files at {resource.get('path')!r}"


def check_manifest(file: Path, tools: Mapping[str, PluginTool], entry: str | None) -> Iterator[str]:
    """Check that a manifest agrees with the loaded tools.

    Args:
        file: The manifest.
        tools: The tools of one entry point.
        entry: The value of that entry point; without it the tools are found by name.
    """
    try:
        document = file.read_bytes()
    except OSError as error:
        yield f"{file} cannot be read: {type(error).__name__}: {error}"
        return
    manifest, findings = Manifest.parse(document, str(file), None)
    yield from (f"{finding.message} ({finding.where or file})" for finding in findings)
    if manifest is None:
        return
    in_manifest = {
        tool["name"]: tool for tool in manifest.tools if (tool["entry"] == entry if entry else tool["name"] in tools)
    }
    yield from (f"the manifest has no tool {name!r}" for name in tools if name not in in_manifest)
    yield from (
        f"the manifest has the tool {name!r}, and the code does not" for name in in_manifest if name not in tools
    )
    for name in in_manifest:
        if name in tools:
            yield from _differences(in_manifest[name], tools[name])


def _differences(in_manifest: Mapping[str, Any], tool: PluginTool) -> Iterator[str]:
    spec = {**tool.spec, "inputSchema": tool.input_schema, "outputSchema": tool.output_schema}
    keys = {"description": "description", "input_schema": "inputSchema", "output_schema": "outputSchema"}
    for field, key in {**keys, "annotations": "annotations", "strands_cli": "strands_cli"}.items():
        left, right = in_manifest.get(field) or None, json.loads(json.dumps(spec.get(key) or None, default=repr))
        if left != right:
            written, in_code = (shortened(json.dumps(side, ensure_ascii=False), 100) for side in (left, right))
            yield f"{field} of {tool.name} is {written} in the manifest, and {in_code} in the code"
    for number, example in enumerate(in_manifest.get("examples") or ()):
        problem = first_problem(tool.input_schema, json_object(example).get("input", example))
        if problem is not None:
            yield f"example {number} of {tool.name} in the manifest does not fit its input schema: {problem}"


def manifest_beside(top: Any) -> Path | None:
    """Return the manifest of a top-level package, if it has one."""
    for folder in getattr(top, "__path__", ()):
        if (file := Path(folder) / Manifest.FILE_NAME).is_file():
            return file
    return None


def check_shape(answer: Any, tool_use_id: str) -> Iterator[str]:
    """Check that an answer has the form of the SDK's tool results."""
    if not isinstance(answer, Mapping):
        yield f"the answer is {type(answer).__name__}, not an object with toolUseId, status and content"
        return
    if answer.get("toolUseId") != tool_use_id:
        yield f"toolUseId is {answer.get('toolUseId')!r}, not {tool_use_id!r}, that of the call"
    if answer.get("status") not in ("success", "error"):
        yield f"status is {answer.get('status')!r}, not 'success' or 'error'"
    content = answer.get("content")
    if not isinstance(content, list) or not content:
        yield "content is not a list of at least one block"
        return
    for block in content:
        if not isinstance(block, Mapping) or len(block) != 1 or next(iter(block)) not in _KINDS:
            yield f"{str(block)[:80]!r} is not a block with one of {', '.join(_KINDS)}"
        elif "text" in block and not isinstance(block["text"], str):
            yield f"a text block contains {type(block['text']).__name__}"


def check_json(answer: Mapping[str, Any]) -> Iterator[str]:
    """Check that JSON preserves an answer."""
    for block in answer["content"]:
        try:
            # An image or a document has bytes, which a journal stores as text.
            is_plain = "json" in block or "text" in block
            text = json.dumps(block, allow_nan=False, default=None if is_plain else repr)
            if is_plain and json.loads(text) != block:
                yield f"{str(block)[:80]!r} is changed by JSON (tuples, keys that are not text?)"
        except (TypeError, ValueError, RecursionError) as error:
            yield f"{str(block)[:80]!r} is not JSON: {error}"


def check_size(answer: Mapping[str, Any], tool: PluginTool) -> Iterator[str]:
    """Check that text and JSON of an answer stay within the tool's limit."""
    plain = [block for block in answer["content"] if "text" in block or "json" in block]
    size = sum(len(json.dumps(block, ensure_ascii=False, default=repr).encode()) for block in plain)
    if size > (limit := tool.max_output_bytes):
        yield f"the answer has {size} bytes, more than the {limit} of max_output_bytes"


def text_of(answer: Mapping[str, Any]) -> str:
    """Return the text of an answer, one line for each block."""
    return "\n".join(block["text"] for block in answer["content"] if "text" in block)


def json_of(answer: Mapping[str, Any]) -> Any:
    """Return the value of the last JSON block, or None."""
    return next((block["json"] for block in reversed(answer["content"]) if "json" in block), None)


def check_output(answer: Mapping[str, Any], tool: PluginTool) -> Iterator[str]:
    """Check that a successful answer has JSON that fits the output schema."""
    schema = tool.output_schema
    if schema is None or answer["status"] != "success":
        return
    blocks = [block for block in answer["content"] if "json" in block]
    if not blocks:
        yield "the answer has no JSON block, and the tool has an output schema"
        return
    fault = schema_fault(schema)
    if fault is not None:
        yield f"the output schema cannot be used: {fault}"
        return
    problem = first_problem(schema, json_of(answer))
    if problem is not None:
        yield f"the answer does not fit the output schema: {problem}"
