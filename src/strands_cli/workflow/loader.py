"""Turns a document into a `WorkflowSpec`, or reports all of its mistakes."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from strands_cli.default_parts import DEFAULTS, FORMATS, OURS, PATTERNS, install_of
from strands_cli.errors import Code, Finding, NotEquipped, StrandsCliError, suggest, too_many
from strands_cli.parts.named_parts import (
    PART_BROKEN,
    NamingFolder,
    Part,
    broken_part,
    imported_part,
    names_in,
    part_named,
)
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.unicode_safety import printable
from strands_cli.workflow.model import LoadedWorkflow, Repairs, WorkflowSpec
from strands_cli.workflow.sections import Inputs, InputSpec
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import NO_SNAPSHOT, FileSnapshot
from strands_cli.yaml_files.yaml_events import DUPLICATE_KEY

# Documents of other formats and versions, which installed distributions translate into the present format.


# The version of the present format.
PRESENT = 2
# The name of the format that reads files of each version which no format has by its own name.
OTHER_VERSIONS = "versions"
_WHOLE = re.compile(r"\s*(\d{1,9})(\.0)?\s*")
# Files are read to a much smaller depth.
_DEEPEST = 200

UNKNOWN_FORMAT = Code(
    "unknown-format",
    "A file has a format or version that no installed distribution translates.",
    "Install one that does, or correct the name or the version.",
    18,
)
FORMAT_FINDING = Code(
    "format-finding",
    "The translation of a file of another format found something.",
    "Do what the finding says.",
)


@dataclass(frozen=True, slots=True)
class FormatProblem:
    """A fault or note of a translation about a document; an error keeps the workflow from running.

    Attributes:
        pointer: The place in the document that was given, as a JSON pointer; empty for the whole.
        code: The code of the finding, if the distribution declares one.
    """

    message: str
    fix: str | None = None
    pointer: str = ""
    severity: Literal["error", "warning"] = "error"
    code: Code | None = None


@dataclass(frozen=True, slots=True)
class Translation:
    """A document of the present format, and the problems of the translated one.

    Attributes:
        value: The document, as data.
        places: For a pointer of the new document, the pointer in the old one that it and all below it come from.
    """

    value: Mapping[str, Any]
    problems: Sequence[FormatProblem] = ()
    places: Mapping[str, str] = field(default_factory=dict)


def translated(document: Document, stored: int | None = None) -> tuple[Document, tuple[Finding, ...]]:
    """Return a document in the present format, and the findings of its translation; most are in it already.

    A file names its format (`format: NAME`), or has another version than the present one: the format `version-V`
    translates the version V, and `versions` all that have no format of their own.

    Args:
        stored: The version that the present format had when a run stored the document; None for a document of now.

    Raises:
        Denied: The translation is of a distribution that may not be imported.
        NotEquipped: No distribution has the format or reads the version, or the translation is broken.
    """
    if any(finding.code == DUPLICATE_KEY and _is_about_format(finding) for finding in document.findings):
        return document, ()  # which of the two is meant, is the first question
    part, where = _part_of(document, stored)
    if part is None:
        return document, ()
    try:
        translation = _translation(part, document)
    except StrandsCliError as error:
        error_findings = error.findings or (Finding(PART_BROKEN, error.message, None, error.fix),)
        error.findings = tuple(replace(finding, where=document.where(where)) for finding in error_findings)
        raise
    findings = tuple(_finding(part, problem, document) for problem in translation.problems)
    moved = {new: old for new, old in translation.places.items() if new != old}
    # One that is moved to where another one was has that one's place, and all below it.
    at_once = {new: document.positions[old] for new, old in moved.items() if old in document.positions and old in moved}
    positions = {pointer: at for pointer, at in document.positions.items() if pointer not in moved}
    aliases = {**document.aliases, **{new: old for new, old in moved.items() if new not in at_once}}
    value = dict(translation.value)
    return replace(document, value=value, positions={**positions, **at_once}, aliases=aliases, written={}), findings


def _is_about_format(finding: Finding) -> bool:
    return finding.where is not None and finding.where.pointer in ("/version", "/format")


def _part_of(document: Document, stored: int | None) -> tuple[Part | None, str]:
    """Return the translation that a document needs, and the pointer at which it says so."""
    value = json_object(document.value)
    name = value.get("format")
    if isinstance(name, str):
        part = part_named(FORMATS, name)
        if part is None:
            names = names_in(FORMATS)
            message = f"no installed distribution reads the format {printable(name)!r}"
            fix = suggest(name, names, f"there are: {', '.join(names)}" if names else None)
            finding = Finding(UNKNOWN_FORMAT, message, document.where("/format"), fix)
            raise NotEquipped(message, findings=[finding], fix=fix)
        return part, "/format"
    version = value.get("version")
    if isinstance(version, bool) or not isinstance(version, (int, float, str)):
        return None, ""
    if version_number(version) in (PRESENT, stored or PRESENT):
        return None, ""
    part = part_named(FORMATS, f"version-{version}") or part_named(FORMATS, OTHER_VERSIONS)
    if part is None:
        raise _unknown_version(version, document)
    return part, "/version"


def version_number(version: object) -> int | None:
    """Return a version as a whole number, also that of a text or with `.0`; None if it is none."""
    whole = _WHOLE.fullmatch(str(version))
    return None if whole is None else int(whole[1])


def _unknown_version(version: object, document: Document) -> NotEquipped:
    import shlex

    install = install_of(OURS[FORMATS][OTHER_VERSIONS])
    file = "FILE" if document.file.startswith("<") else shlex.quote(document.file)
    version_text = printable(str(version)) or repr(version)
    message = f"the file has version {version_text}, and the present format is version {PRESENT}"
    fix = f"if an earlier strands-cli ran it: {install}, then it is read, and `strands workflows migrate {file}`"
    fix += f" writes it as version {PRESENT}; otherwise write `version: {PRESENT}`"
    return NotEquipped(message, findings=[Finding(UNKNOWN_FORMAT, message, document.where("/version"), fix)], fix=fix)


def _translation(part: Part, document: Document) -> Translation:
    translate = imported_part(part, lock=NamingFolder(Path(document.file).parent))
    try:
        translation = translate(copy.deepcopy(document.value))
    except StrandsCliError:
        raise
    except (Exception, SystemExit) as error:  # a plugin may raise anything, and call sys.exit
        raise broken_part(part, f"failed: {type(error).__name__}: {error}") from error
    if (fault := _fault_of(translation)) is not None:
        raise broken_part(part, f"returns {fault}")
    return cast("Translation", translation)


def _fault_of(translation: object) -> str | None:
    """Return the fault that makes an object no translation; None if it is one."""
    if not isinstance(translation, Translation):
        return f"{type(translation).__name__}, not a strands_cli.api.Translation"
    if not isinstance(translation.value, Mapping) or "format" in translation.value:
        return "a translation whose `value` is not a document of the present format"
    if (fault := _unlike_yaml(translation.value, [])) is not None:
        return f"a translation whose `value` has {fault}, which no file has"
    if not _are(translation.problems, FormatProblem):
        return "a translation whose `problems` are not a list of FormatProblem"
    if not isinstance(translation.places, Mapping) or not (
        _are([*translation.places], str) and _are([*translation.places.values()], str)
    ):
        return "a translation whose `places` are not pointers for pointers"
    return None


def _are(values: object, kind: type) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(value, kind) for value in values)


def _unlike_yaml(value: object, above: list[int]) -> str | None:
    """Return the part of a value that no YAML file gives: other keys than text, objects, values inside themselves."""
    if isinstance(value, (str, int, float, bool, date, type(None))):
        return None
    if not isinstance(value, (Mapping, list, tuple)):
        return f"a {type(value).__name__}"
    if id(value) in above or len(above) > _DEEPEST:
        return "itself in it"
    inner: list[object] = list(value)
    if isinstance(value, Mapping):
        if wrong := [key for key in inner if not isinstance(key, str)]:
            return f"the key {wrong[0]!r}"
        inner = list(value.values())
    return next((fault for item in inner if (fault := _unlike_yaml(item, [*above, id(value)]))), None)


def _finding(part: Part, problem: FormatProblem, document: Document) -> Finding:
    severity: Literal["error", "warning"] = "warning" if problem.severity == "warning" else "error"
    text = printable(f"{part.distribution}: {problem.message}")
    fix = None if problem.fix is None else printable(problem.fix)
    code = FORMAT_FINDING if problem.code is None else problem.code
    return Finding(code, text, document.where(problem.pointer), fix, severity)


# Fields that follow from others: memory of agents, inputs of a schema, kept texts, places of secrets.


def settled(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow with these written out, when its files are part of it; most have none and stay as they are."""
    if spec.context_policy.memory != "step":
        spec = _remembering(spec)
    if spec.schema_of_inputs is not None:
        from strands_cli.workflow.model import with_declared_inputs

        spec = with_declared_inputs(spec)
    if spec.inputs.keep_texts or spec.inputs.absent == "undefined":
        from strands_cli.workflow.repairs import as_given

        spec = spec.model_copy(update={"inputs": as_given(spec.inputs)})
    if spec.env.secrets:
        from strands_cli.workflow.model import with_secret_names

        spec = with_secret_names(spec)
    return spec


def with_default_model(spec: WorkflowSpec, stored: str | None) -> tuple[WorkflowSpec, str]:
    """Return a workflow whose `runtime` names no model with the default one, and that; else unchanged, and no text.

    Args:
        stored: The default model that a run has stored; None for the user's of now.
    """
    runtime = spec.runtime
    if not spec.agents or any((runtime.provider, runtime.model_id, runtime.region, runtime.host, runtime.options)):
        return spec, ""
    from strands_cli.user_files.model_names import NamedModel, default_model

    if not (chosen := default_model() if stored is None else stored):
        return spec, ""
    named = NamedModel.parse(chosen)
    changed = runtime.model_copy(update={"provider": named.provider, "model_id": named.model_id})
    return spec.model_copy(update={"runtime": changed}), chosen


def _remembering(spec: WorkflowSpec) -> WorkflowSpec:
    """Give each agent that names no memory the workflow's."""
    memory = spec.context_policy.memory
    agents = {
        name: agent if "memory" in agent.model_fields_set else agent.model_copy(update={"memory": memory})
        for name, agent in spec.agents.items()
    }
    return spec.model_copy(update={"agents": agents})


# Values that an input declares as text, as the file has them, though YAML reads numbers, booleans and nulls.


NUMBER_RESPELLED = Code(
    "number-respelled",
    "A number is not printed as it is written (`1.10` is 1.1), and nothing says whether it is text.",
    'Put text in quotes: `"1.10"`; write a number as it is printed.',
)
# Where a number reaches a text without a declared type.
_FREE = re.compile(r"/inputs/values/[^/]+|/inputs/(?:required|optional)/[^/]+/default|/pattern/.*/vars/[^/]+")


def with_texts_as_written(spec: WorkflowSpec, document: Document) -> WorkflowSpec:
    """Return a workflow whose inputs of type string have defaults and choices as they are written."""
    inputs = spec.inputs
    update: dict[str, Any] = {
        section: {
            name: _as_written(input_spec, f"/inputs/{section}/{escape(name)}", document)
            for name, input_spec in part.items()
        }
        for section, part in (("required", inputs.required), ("optional", inputs.optional))
    }
    texts = {name for name, input_spec in inputs.declared().items() if input_spec.type == "string"}
    written_texts = {
        name: document.text_at(f"/inputs/values/{escape(name)}") for name in inputs.values if name in texts
    }
    update["values"] = {**inputs.values, **{name: text for name, text in written_texts.items() if text is not None}}
    return spec.model_copy(update={"inputs": inputs.model_copy(update=update)})


def _as_written(input_spec: InputSpec, pointer: str, document: Document) -> InputSpec:
    if input_spec.type != "string":
        return input_spec
    update: dict[str, Any] = {}
    if input_spec.default is not None and (text := document.text_at(f"{pointer}/default")) is not None:
        update["default"] = text
    if input_spec.enum is not None:
        texts = [document.text_at(f"{pointer}/enum/{index}") for index in range(len(input_spec.enum))]
        update["enum"] = tuple(text or value for text, value in zip(texts, input_spec.enum, strict=True))
    return input_spec.model_copy(update=update) if update else input_spec


def check_written_numbers(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report numbers that are printed otherwise than written, where no type makes them text."""
    document = workflow.document
    for pointer, text in document.written.items():
        if _FREE.fullmatch(pointer) is None or not any(char.isdigit() for char in text):
            continue
        value: Any = document.value
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            value = value[int(key)] if isinstance(value, list) else value.get(key)
        if _has_type(spec.inputs, pointer, document) or not isinstance(value, (int, float)):
            continue
        message = f"{text} is read as the number {value}, and printed so"
        fix = f'if it is text, write "{text}"'
        yield Finding(NUMBER_RESPELLED, message, document.where(pointer), fix, severity="warning")


def _has_type(inputs: Inputs, pointer: str, document: Document) -> bool:
    """Return whether the declaration of an input has a type."""
    if pointer.endswith("/default"):
        return f"{pointer.removesuffix('default')}type" in document.positions
    name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return pointer.startswith("/inputs/") and name in inputs.declared()


NOT_A_WORKFLOW = Code(
    "not-a-workflow",
    "The file holds one agent, tests of an agent, or a recording.",
    "Name a workflow, or use the command for such files.",
)

PATTERN_UNUSABLE = Code(
    "pattern-unusable",
    "The pattern of an installed distribution cannot be imported, or is not a pattern.",
    "Upgrade the distribution.",
    18,
)

# A workflow with so many errors is not checked to the end.
MOST_ERRORS = 500
# The most agents, steps, nodes or the like.
MOST_PARTS = 10_000
# The most entries of other lists: most cost more, such as tools, compared with each other and with each rule.
_MOST = {
    "/agents": 2_000,
    "/inputs/required": 2_000,
    "/inputs/optional": 2_000,
    "/inputs/values": 2_000,
    "/outputs/artifacts": 1_000,
    "/env/mounts": 1_000,
    "/env/secrets": 1_000,
    "/tools/mcp": 1_000,
    "/tools/python": 1_000,
    "/tools/http_executors": 1_000,
    "/tools/composite": 1_000,
    "/security/permissions/ask": 1_000,
    "/security/permissions/deny": 1_000,
    "/security/guardrails/allow_tools": 1_000,
    "/skills": 100,
}
# The most tools of one agent: each is offered to its model in each request; and the most steps of a composite tool.
_MOST_TOOLS = 1_000


def load_spec(document: Document, snapshot: FileSnapshot = NO_SNAPSHOT) -> LoadedWorkflow:
    """Return a document as a workflow, with its mistakes as findings in the order of the file.

    Raises:
        Denied: Its format or its pattern is one of a distribution that may not be imported.
        NotEquipped: That cannot be imported, or is not installed.
    """
    from strands_cli.workflow.checks.check_workflow import check_spec

    document, of_format = _in_present_format(document, snapshot.format_version)
    if (wrong := _other_file(document) or _too_large(document)) is not None:
        return LoadedWorkflow(None, document, (wrong,))
    _learn_pattern(document)
    findings: list[Finding] = []
    of_form = [*document.findings, *of_format]
    spec, errors = _validate(document.value)
    candidate, repairs = spec, Repairs()
    if spec is None:
        from strands_cli.workflow.repairs import repaired  # only for a workflow with mistakes

        candidate, document, repairs, mistakes = repaired(document, errors, _validate)
        of_form += mistakes
    keeps_texts = candidate is not None and bool(document.written)
    if candidate is not None and keeps_texts:
        candidate = with_texts_as_written(candidate, document)
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = {}
    packages: Mapping[str, str] = {}
    if candidate is not None and names_files(candidate):
        from strands_cli.workflow.parts.references import resolve_references

        resolved = resolve_references(candidate, document, snapshot)
        candidate, files, origins = resolved.spec, resolved.files, resolved.origins
        findings, packages = [*findings, *resolved.findings], resolved.packages
    chosen, aliases = "", {}
    if candidate is not None and (candidate.runtime.models or any(agent.models for agent in candidate.agents.values())):
        from strands_cli.workflow.model_lists import ModelLists

        lists = ModelLists(document, snapshot.aliases)
        candidate, aliases = lists.resolved(candidate), lists.used
        findings += lists.findings
    if candidate is not None:
        candidate, chosen = with_default_model(settled(candidate), snapshot.default_model)
    if candidate is not None and candidate.skills:
        from strands_cli.workflow.skill_folders import check_skills

        findings += check_skills(candidate.skills, document, snapshot)
    if candidate is not None:
        sketch = LoadedWorkflow(candidate, document, (), files, origins)
        findings += _until_many(check_spec(candidate, sketch), document)
        if keeps_texts:
            findings += check_written_numbers(candidate, sketch)
    valid_spec = candidate if spec else None
    loaded = LoadedWorkflow(
        valid_spec, document, tuple(of_form), files, origins, snapshot, candidate, repairs, packages, chosen, aliases
    )
    return loaded.with_findings(findings)


def _in_present_format(document: Document, stored: int | None) -> tuple[Document, tuple[Finding, ...]]:
    """Return a document in the present format, and the findings of its translation."""
    value = json_object(document.value)
    if "format" not in value and value.get("version") in (None, 2):  # as nearly all are
        return document, ()

    return translated(document, stored)


def _learn_pattern(document: Document) -> None:
    """Import the pattern that a workflow names, if it is one of an installed distribution.

    Raises:
        Denied: It may not be imported; the finding has the place.
        NotEquipped: It cannot be imported, or is not a pattern.
    """
    name = json_object(json_object(document.value).get("pattern")).get("type")
    if not isinstance(name, str) or name in DEFAULTS[PATTERNS]:
        return
    from strands_cli.workflow.patterns.pattern_models import PATTERNS as MODELS

    try:
        MODELS.learn(name, Path(document.file).parent)
    except StrandsCliError as error:
        where = document.where("/pattern/type")
        findings = error.findings or (Finding(PATTERN_UNUSABLE, error.message, None, error.fix),)
        error.findings = tuple(replace(finding, where=where) for finding in findings)
        raise
    if MODELS.has_changed:
        WorkflowSpec.model_rebuild(force=True)
        MODELS.has_changed = False


def _too_large(document: Document) -> Finding | None:
    """Return the finding about more agents or steps than are checked in a bounded time."""
    value = json_object(document.value)
    agents, config = json_object(value.get("agents")), json_object(json_object(value.get("pattern")).get("config"))
    counts = {
        **{f"/pattern/config/{escape(name)}": (config[name], MOST_PARTS) for name in config},
        **{pointer: (_at(value, pointer), most) for pointer, most in _MOST.items()},
        **{f"/agents/{escape(name)}/tools": (json_object(agents[name]).get("tools"), _MOST_TOOLS) for name in agents},
    }
    composites = _at(value, "/tools/composite")
    for index, composite in enumerate(composites if isinstance(composites, list) else ()):
        counts[f"/tools/composite/{index}/steps"] = json_object(composite).get("steps"), _MOST_TOOLS
    return document.first_too_large(counts)


def _at(value: Any, pointer: str) -> Any:
    """Return the value at a pointer; None where nothing is."""
    for key in pointer[1:].split("/"):
        value = json_object(value).get(key)
    return value


def _until_many(findings: Iterator[Finding], document: Document) -> Iterator[Finding]:
    """Yield findings until there are very many errors among them."""
    errors = 0
    for finding in findings:
        yield finding
        errors += finding.severity == "error"
        if errors == MOST_ERRORS:
            yield too_many("there may be more mistakes, which are not looked for", document.where(""))
            return


def _other_file(document: Document) -> Finding | None:
    """Return the finding about a file that holds something else than a workflow."""
    value = document.value
    if _are_tests(value["tests"] if isinstance(value, dict) and value.keys() == {"tests"} else value):
        message = "these are tests of an agent, not a workflow"
        return Finding(
            NOT_A_WORKFLOW, message, document.where(""), "name the agent's file: strands workflows agent test FILE"
        )
    if not isinstance(value, dict) or {"agents", "pattern"} & value.keys():
        return None
    if isinstance(value.get("prompt", value.get("$ref")), str) and "recording" not in value:
        import shlex  # off the happy path

        message = "this is a file of one agent, not a workflow"
        fix = f"strands workflows agent validate {shlex.quote(document.file)}"
    elif "recording" in value:
        message, fix = "this is a recording, not a workflow", "name the workflow that plays it"
    else:
        return None
    return Finding(NOT_A_WORKFLOW, message, document.where(""), fix)


def _are_tests(value: Any) -> bool:
    """Return whether a value is a list of tests of an agent."""
    return isinstance(value, list) and any(isinstance(item, dict) and "expect" in item for item in value)


def names_files(spec: WorkflowSpec) -> bool:
    """Return whether an agent or a schema is in another file."""
    return any(
        agent.ref is not None or isinstance(agent.input_schema, str) or isinstance(agent.output_schema, str)
        for agent in spec.agents.values()
    )


def _validate(value: Any) -> tuple[WorkflowSpec | None, list[Any]]:
    try:
        return WorkflowSpec.model_validate(value, context={"document": True}), []
    except ValidationError as error:
        return None, error.errors(include_url=False)
