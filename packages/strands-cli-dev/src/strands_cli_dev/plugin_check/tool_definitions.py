"""Check each tool of a manifest: schemas, texts for models and people, safety, requirements, examples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from jsonschema import Draft202012Validator, SchemaError
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from strands_cli.api import Code, Finding, PluginSource, Where, fields_of_resource, hidden_characters, suggest, texts_of

NO_DESCRIPTION = Code(
    "no-description",
    "A tool has no description for the model.",
    "Describe it in the tool spec or docstring.",
)
LONG_DESCRIPTION = Code(
    "long-description",
    "A tool's description is longer than some model providers accept.",
    "Shorten it to 1,024 characters.",
)
HIDDEN_CHARACTER = Code(
    "hidden-character",
    "A text that people and models read contains control, bidi or invisible characters.",
    "Remove them.",
)
MISSING_HINT = Code(
    "missing-hint",
    "A tool does not declare whether it only reads or destroys, so every call asks a person.",
    "Declare readOnlyHint and destructiveHint, or use @tool_metadata.",
)
CONTRADICTING_HINTS = Code(
    "contradicting-hints",
    "A tool declares both that it only reads and that it destroys.",
    "Correct one of the two hints.",
)
MISSING_CAPABILITIES = Code(
    "missing-capabilities",
    "A tool does not declare its capabilities, so rules assume that it has all.",
    "Declare `capabilities`; {} declares none.",
)
BAD_CAPABILITIES = Code(
    "bad-capabilities",
    "A tool's `capabilities` do not have the required form.",
    "Write them as the manifest's page describes.",
)
BAD_RESOURCES = Code(
    "bad-resources",
    "A tool's `resources` are malformed, so its calls wait for each other, and rules deny it more often.",
    "Write them as the manifest's page describes.",
)
BAD_ENGINES = Code(
    "bad-engines",
    "A tool's `engines` does not name a function of its own package.",
    "Write `module:function`, as the manifest's page describes.",
)
BAD_REQUIREMENT = Code(
    "bad-requirement", "A tool's `requires` has an unknown form, so it can never be met.", "Correct the requirement."
)
BAD_EXAMPLE = Code(
    "bad-example",
    "An example of a tool does not fit the tool's own input schema.",
    "Correct the example or the schema.",
)

BAD_FAMILY = Code(
    "bad-family",
    "A tool's `family` or `category` cannot name tools.",
    "Write a word such as `files`, for `native:files.*`.",
)

MAX_DESCRIPTION = 1024
_EXAMPLE_WORDS = frozenset({"input", "output", "title", "description"})
_FAMILY = re.compile(r"[A-Za-z0-9_-]{1,64}")
SCHEMAS = ("input_schema", "output_schema", "config_schema")
CAPABILITIES: Mapping[str, type] = {
    "network": list,
    "filesystem": list,
    "subprocess": bool,
    "env": list,
    "secrets": list,
}
_ACCESSES = ("reads", "writes", "connects")
MODES = ("read", "write", "r", "w", "rw")
SYSTEMS = ("linux", "macos", "windows", "darwin", "win32", "cygwin")


def check_declared(tool: Mapping[str, Any], file: str, pointer: str) -> Iterator[Finding]:
    """Yield the faults of one tool of a manifest whose fields have the right types.

    Args:
        tool: As in the manifest.
        file: The manifest, for findings.
    """
    for part in (_texts, _schemas, _hints, _capabilities, _resources, _engines, _requires, _family, _examples):
        for code, message, inner, severity in part(tool):
            yield Finding(
                code, f"the tool '{tool['name']}' {message}", Where(file, pointer=pointer + inner), None, severity
            )


Fault = tuple[Code, str, str, Literal["error", "warning"]]


def _texts(tool: Mapping[str, Any]) -> Iterator[Fault]:
    description = tool.get("description") or ""
    if not description.strip():
        yield NO_DESCRIPTION, "has no description", "/description", "error"
    if len(description) > MAX_DESCRIPTION:
        message = f"has a description of {len(description):,} characters; some providers accept {MAX_DESCRIPTION:,}"
        yield LONG_DESCRIPTION, message, "/description", "warning"
    for inner, text in texts_of(dict(tool)):
        if hidden := hidden_characters(text):
            yield HIDDEN_CHARACTER, f"has a text with {', '.join(hidden)}", inner, "error"


def _schemas(tool: Mapping[str, Any]) -> Iterator[Fault]:
    schemas = {f"/{key}": tool.get(key) for key in SCHEMAS}
    schemas["/strands_cli/read_only_when"] = tool.get("strands_cli", {}).get("read_only_when")
    for inner, schema in schemas.items():
        if schema is not None and (fault := schema_fault(schema)):
            yield PluginSource.BAD_SCHEMA, f"has a schema that is not valid: {fault[1]}", inner + fault[0], "error"
    if tool.get("input_schema") is None:
        yield PluginSource.BAD_SCHEMA, "has no input schema", "", "error"


def schema_fault(schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the pointer and the message of the first fault of a Draft 2020-12 schema."""
    try:
        Draft202012Validator.check_schema(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        return "".join(f"/{step}" for step in error.absolute_path), error.message.splitlines()[0][:200]
    except RecursionError:
        return "", "it nests too deep"
    return None


def _hints(tool: Mapping[str, Any]) -> Iterator[Fault]:
    hints = tool.get("annotations", {})
    reads, destroys = hints.get("readOnlyHint"), hints.get("destructiveHint")
    if reads and destroys:
        yield CONTRADICTING_HINTS, "declares both readOnlyHint and destructiveHint", "/annotations", "error"
    if reads is None:
        yield MISSING_HINT, "does not declare readOnlyHint: every call asks", "/annotations", "warning"
    elif not reads and destroys is None:
        yield MISSING_HINT, "does not declare destructiveHint: every call asks", "/annotations", "warning"


def _capabilities(tool: Mapping[str, Any]) -> Iterator[Fault]:
    pointer = "/strands_cli/capabilities"
    declared = tool.get("strands_cli", {}).get("capabilities")
    if declared is None:
        yield MISSING_CAPABILITIES, "does not declare its capabilities", "/strands_cli", "warning"
        return
    for name, value in declared.items():
        if name not in CAPABILITIES:
            hint = suggest(name, CAPABILITIES, f"known: {', '.join(CAPABILITIES)}")
            yield BAD_CAPABILITIES, f"has an unknown capability {name!r}; {hint}", f"{pointer}/{name}", "error"
        elif not isinstance(value, CAPABILITIES[name]):
            kind = "true or false" if CAPABILITIES[name] is bool else "a list"
            yield BAD_CAPABILITIES, f"has a capability {name!r} that is not {kind}", f"{pointer}/{name}", "error"
        elif isinstance(value, list):
            fits = _is_place if name == "filesystem" else lambda item: isinstance(item, str) and bool(item)
            for index, item in enumerate(value):
                if not fits(item):
                    form = "{path, mode}" if name == "filesystem" else "text"
                    message = f"has an entry under {name!r} that is not {form}"
                    yield BAD_CAPABILITIES, message, f"{pointer}/{name}/{index}", "error"


def _resources(tool: Mapping[str, Any]) -> Iterator[Fault]:
    for key, entries in tool.get("strands_cli", {}).get("resources", {}).items():
        pointer = f"/strands_cli/resources/{key}"
        if key not in _ACCESSES:
            yield (
                BAD_RESOURCES,
                f"has resources under {key!r}, not under 'reads', 'writes' or 'connects'",
                pointer,
                "error",
            )
        elif not isinstance(entries, list):
            yield BAD_RESOURCES, f"has resources {key!r} that are not a list", pointer, "error"
        else:
            for index, entry in enumerate(entries):
                if fault := _entry_fault(entry, tool):
                    yield BAD_RESOURCES, f"has a resource that is not valid: {fault}", f"{pointer}/{index}", "error"


def _entry_fault(entry: Any, tool: Mapping[str, Any]) -> str | None:
    try:
        fields = fields_of_resource(entry) if isinstance(entry, str) else ()
    except ValueError as error:
        return str(error)
    properties = (tool.get("input_schema") or {}).get("properties") or {}
    unknown = [field for field in fields if field not in properties]
    if unknown:
        return f"{entry!r} names {unknown[0]!r}, which is not a field of the input"
    return None if isinstance(entry, str) else f"{entry!r} is not text"


def _engines(tool: Mapping[str, Any]) -> Iterator[Fault]:
    named = tool.get("strands_cli", {}).get("engines")
    if named is None:
        return
    package = str(tool.get("entry", "")).partition(":")[0].partition(".")[0]
    module, _, function = named.partition(":")
    fault = ""
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        fault = f"names its engines as {named!r}, not as 'module:function'"
    elif module.partition(".")[0] != package:
        fault = f"names its engines outside its own package: {named!r}"
    if fault:
        yield BAD_ENGINES, fault, "/strands_cli/engines", "error"


def _is_place(entry: Any) -> bool:
    has_keys = isinstance(entry, dict) and set(entry) <= {"path", "mode"}
    return has_keys and isinstance(entry.get("path"), str) and entry.get("mode", "r") in MODES


def _requires(tool: Mapping[str, Any]) -> Iterator[Fault]:
    requires = tool.get("requires", {})
    for index, text in enumerate(requires.get("distributions", ())):
        if fault := requirement_fault(text):
            yield BAD_REQUIREMENT, f"requires {text!r}: {fault}", f"/requires/distributions/{index}", "error"
    if "python" in requires and (fault := specifier_fault(requires["python"])):
        yield BAD_REQUIREMENT, f"requires Python {requires['python']!r}: {fault}", "/requires/python", "error"
    for index, name in enumerate(requires.get("modules", ())):
        if not all(part.isidentifier() for part in name.split(".")):
            yield (
                BAD_REQUIREMENT,
                f"requires {name!r}, which is not a module name",
                f"/requires/modules/{index}",
                "error",
            )
    for index, name in enumerate(requires.get("os", ())):
        if name.lower() not in SYSTEMS:
            message = f"requires the operating system {name!r}; known are linux, macos and windows"
            yield BAD_REQUIREMENT, message, f"/requires/os/{index}", "error"


def requirement_fault(text: str) -> str | None:
    """Return why a text is not a PEP 508 requirement; None if it is."""
    try:
        Requirement(text)
    except InvalidRequirement as error:
        return str(error).splitlines()[0]
    return None


def specifier_fault(text: str) -> str | None:
    """Return why a text is not a version specifier; None if it is."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        return str(error)
    return None


def _family(tool: Mapping[str, Any]) -> Iterator[Fault]:
    family, category = tool.get("family"), tool.get("category")
    if family is not None and not _FAMILY.fullmatch(family):
        yield BAD_FAMILY, f"has the family {family!r}, which `native:FAMILY.*` cannot name", "/family", "error"
    if category is not None and (not category or category != category.strip()):
        yield BAD_FAMILY, f"has the category {category!r}, which is not a word", "/category", "error"


def _examples(tool: Mapping[str, Any]) -> Iterator[Fault]:
    schema = tool.get("input_schema")
    if schema is None or schema_fault(schema):
        return  # already reported
    validator = Draft202012Validator(schema)
    for index, example in enumerate(tool.get("examples", ())):
        pointer = f"/examples/{index}"
        if not isinstance(example, dict) or not isinstance(example.get("input"), dict):
            yield BAD_EXAMPLE, "has an example without an object `input`", pointer, "error"
            continue
        for word in sorted(set(map(str, example)) - _EXAMPLE_WORDS):
            words_allowed = ", ".join(sorted(_EXAMPLE_WORDS))
            yield (
                BAD_EXAMPLE,
                f"has an example with {word!r}; an example has {words_allowed}",
                f"{pointer}/{word}",
                "error",
            )
        for error in validator.iter_errors(example["input"]):
            inner = "".join(f"/{step}" for step in error.absolute_path)
            message = f"has an example that does not fit its input schema: {error.message[:200]}"
            yield BAD_EXAMPLE, message, f"{pointer}/input{inner}", "error"
