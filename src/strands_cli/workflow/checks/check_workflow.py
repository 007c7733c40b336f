"""Checks of a workflow of the right shape: names, references, templates, schemas, fields without effect."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from strands_cli.errors import (
    Code,
    Edit,
    Finding,
    Severity,
    StrandsCliError,
    Where,
    clear_edit,
    did_you_mean,
    suggest,
)
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.checks.check_pattern import check_pattern
from strands_cli.workflow.checks.check_sections import check_sections
from strands_cli.workflow.findings import NO_EFFECT, UNKNOWN_NAME, no_effect
from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec, template_sites
from strands_cli.workflow.pattern_model import (
    BESIDE,
    YIELDING,
    Output,
    Scope,
    Site,
    Text,
    answer_in,
    is_result,
    problem_of,
    spoken_path,
)
from strands_cli.workflow.patterns.pattern_models import reserved_names
from strands_cli.workflow.templates.plugin_filters import Path, TemplateError, TemplateRead
from strands_cli.workflow.templates.template import Templates, explain_syntax, is_prompt_template
from strands_cli.yaml_files.document import escape

# Whether templates read the answers of steps as they are: a text has no fields, and an output those of its schema.


# Keywords with which the properties of a schema are not all that an answer may have.
_MORE = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"})


def check_answers(site: Site, templates: Templates, spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Yield a finding for each field that the text of an answer, or its schema, does not have."""
    seen = set[str]()
    for read in templates.every_read_in(site.text, is_condition=site.is_condition):
        answer = answer_in(read.path, site.scope)
        if answer is None:
            continue
        position, node = answer
        if isinstance(node, Text):
            problem = _of_text(read, position, node, spec)
        else:
            problem = _of_output(read, position, node, spec)
        if problem is not None and problem.message not in seen:
            seen.add(problem.message)
            message, where = f"{problem.message}{site.use}", workflow.where(site.pointer)
            yield Finding(UNKNOWN_NAME, message, where, problem.fix, problem.severity)


class _Problem(NamedTuple):
    message: str
    fix: str
    severity: Severity


def _of_text(template_read: TemplateRead, position: int, node: Text, spec: WorkflowSpec) -> _Problem | None:
    part = template_read.path[position]
    if not isinstance(part, str) or part == "*" or hasattr(str, part):
        return None
    owner, rest = (
        spoken_path(template_read.path[:position]),
        template_read.path[position : len(template_read.path) - template_read.is_called],
    )
    output = (*template_read.path[: position - 1], *BESIDE[1:]) if node.output == BESIDE else node.output
    schemas = [_schema_of(agent, spec) for agent in node.agents]
    instead = spoken_path((*output, *rest)) if output else ""
    if "*" in output:
        written = spoken_path(("", *template_read.path[position - 1 :]))
        fix = f"write `{spoken_path(('', 'output', *rest))}` for `{written}`"
    elif output and (not schemas or any(schema is not None for schema in schemas)):
        fix = f"did you mean `{instead}`?"
    elif output:
        fix = f"give the agent {node.agents[0]!r} an `output_schema`, and write `{instead}`"
    else:
        fix = f"where it is JSON: `({owner} | fromjson){spoken_path(('', *rest))}`"
    # One that may be missing is always missing: the run goes on, without the value.
    return _Problem(
        f"`{owner}` is text, which has no `{part}`", fix, "warning" if template_read.may_be_missing else "error"
    )


def _of_output(template_read: TemplateRead, position: int, node: Output, spec: WorkflowSpec) -> _Problem | None:
    owner, agent = spoken_path(template_read.path[:position]), node.agents[0]
    schema = _schema_of(agent, spec)
    if schema is None and agent in spec.agents:
        fix = f"give the agent an `output_schema`, or read its text: `{owner.removesuffix('output')}response`"
        message = f"`{owner}` is none, since the agent {agent!r} has no `output_schema`"
        return None if template_read.may_be_missing else _Problem(message, fix, "error")
    parts = template_read.path[position:-1] if template_read.is_called else template_read.path[position:]
    lacking = _lacking(schema, parts) if isinstance(schema, Mapping) else None
    if lacking is None:
        return None
    count, names, is_closed = lacking
    word = str(parts[count])
    if template_read.may_be_missing and not is_closed:
        return None
    close = did_you_mean(word, names)
    before = spoken_path((*template_read.path[:position], *parts[:count]))
    fix = f"did you mean `{close}`?" if close else f"its schema has: {', '.join(names)}"
    if is_closed:
        severity: Severity = "warning" if template_read.may_be_missing else "error"
        return _Problem(f"`{before}` has no `{word}`, by the schema of the agent {agent!r}", fix, severity)
    fix = fix if close else f"name it in the schema, or write `| default('')` behind it; {fix}"
    message = (
        f"`{before}` has `{word}` only where the model adds it: the schema of the agent {agent!r} does not name it"
    )
    return _Problem(message, fix, "warning")


def _schema_of(agent: str, spec: WorkflowSpec) -> Any:
    agent_spec = spec.agents.get(agent)
    return agent_spec.output_schema if agent_spec is not None else None


def _lacking(schema: Mapping[str, Any], parts: Path) -> tuple[int, list[str], bool] | None:
    """Return the place of the first part that a schema does not name, the names there, and whether it has no others."""
    for count, part in enumerate(parts):
        if _MORE & schema.keys():
            return None
        if not isinstance(part, str) or part == "*":
            schema = json_object(schema.get("items"))
            continue
        properties = json_object(schema.get("properties"))
        if part not in properties:
            others = schema.get("additionalProperties", True)
            is_object = schema.get("type", "object") == "object" and isinstance(others, bool)
            return (count, list(properties), not others) if properties and is_object else None
        schema = json_object(properties[part])
    return None


# Checks of values in templates: an unknown status, whole results as text, booleans of Python.


UNKNOWN_STATUS = Code(
    "unknown-status",
    "A template or a condition compares a status with a word that no step has.",
    "Write completed, failed, skipped or not_executed.",
)
STATUSES = ("completed", "failed", "skipped", "not_executed")
WHOLE_RESULT = Code(
    "whole-result",
    "A template prints a whole result, with the names of its fields, not its text.",
    "Write `.response` behind it, or `| tojson`.",
)
PYTHON_BOOLEAN = Code(
    "python-boolean",
    "A template prints a boolean input as `True` or `False`.",
    "Write `| lower`, or `{% if %}` for words of your own.",
)
PRINTS_NONE = Code(
    "prints-none",
    "A template prints an optional input without a default, which is `None` where it has no value.",
    "Give it a default, or write `{{ NAME or '' }}`.",
)
_RESULTS = ("steps", "tasks", "nodes", "branches", "workers")
_ARGUMENT = re.compile(r"/(input|vars)/")
# Words of other programs for the same.
_MEANT = {**dict.fromkeys(("success", "succeeded", "done", "ok"), "completed"), "error": "failed"}


def check_comparisons(
    site: Site, templates: Templates, spec: WorkflowSpec, workflow: LoadedWorkflow
) -> Iterator[Finding]:
    """Yield a warning for each comparison that never holds, and each default that never acts."""
    for path, word in dict.fromkeys(templates.words_in(site.text, is_condition=site.is_condition)):
        is_status = path[0] in _RESULTS and path[0] in site.scope and path[-1] == "status"
        if is_status and word.strip().lower() not in (*STATUSES, spec.rendering.completed.lower()):
            fix = f"write '{_MEANT[word]}'" if word in _MEANT else suggest(word, STATUSES, f"one of {STATUSES}")
            where, edits = workflow.where(site.pointer), clear_edit(word, STATUSES)
            edits = tuple(replace(edit, old=f"'{edit.old}'", new=f"'{edit.new}'") for edit in edits)
            message = f"no step ever has the status {word!r}"
            yield Finding(UNKNOWN_STATUS, message, where, fix, "warning", edits=edits)
    for path, as_it_is in () if site.is_condition else templates.printed_in(site.text):
        if path[0] in _RESULTS and is_result(path, site.scope):
            spoken = spoken_path(path)
            message = f"`{spoken}` prints all fields of the result with their names, in place of its text"
            yield Finding(WHOLE_RESULT, message, workflow.where(site.pointer), f"write `{spoken}.response`", "warning")
        elif as_it_is and len(path) == 1 and path[0] not in site.scope and _is_python_boolean(str(path[0]), spec):
            message = f"`{path[0]}` is a boolean, and prints as `True` or `False`"
            yield Finding(
                PYTHON_BOOLEAN,
                message,
                workflow.where(site.pointer),
                f"write `{path[0]} | lower` for `true` or `false`",
                "warning",
            )
        elif as_it_is and len(path) == 1 and _may_print_none(str(path[0]), site, templates, spec):
            message = f"`{path[0]}` is optional and has no default: without a value it prints as `None`"
            fix = f"give it a `default`, such as '', or write `{path[0]} or ''`"
            yield Finding(PRINTS_NONE, message, workflow.where(site.pointer), fix, "warning")
    may_miss = spec.inputs.absent == "undefined"
    for name in () if may_miss else templates.assumed_missing(site.text, is_condition=site.is_condition):
        input_spec = spec.inputs.optional.get(name)
        if input_spec is not None and input_spec.default is None and name not in {*site.scope, *spec.inputs.values}:
            message = f"the optional input `{name}` is never missing: without a value it is none"
            fix = f"give it a `default` under `inputs`, or write `{name} or ...` and `if {name}`"
            yield Finding(NO_EFFECT, message, workflow.where(site.pointer), fix, "warning")


def _may_print_none(name: str, site: Site, templates: Templates, spec: WorkflowSpec) -> bool:
    """Return whether a name is an input without a value or a default that a template does not ask for before."""
    input_spec = spec.inputs.optional.get(name)
    if input_spec is None or input_spec.default is not None or spec.inputs.absent == "undefined":
        return False
    # An argument that is nothing but the input is its value, and no text.
    is_value = _ARGUMENT.search(site.pointer) is not None and templates.is_lone(site.text)
    if is_value or any(name in names for names in (site.scope, spec.inputs.values, spec.inputs.required)):
        return False
    return name not in templates.asked_in(site.text) and name not in _of_objects(spec)


def _of_objects(spec: WorkflowSpec) -> Iterator[str]:
    """Yield the required fields of an agent's object: without them no model is asked."""
    for agent in spec.agents.values():
        needed = agent.input_schema.get("required") if isinstance(agent.input_schema, Mapping) else None
        yield from (name for name in needed if isinstance(name, str)) if isinstance(needed, list) else ()


def _is_python_boolean(name: str, spec: WorkflowSpec) -> bool:
    """Return whether an input is a boolean that prints as Python has it, where texts do not print as they are given."""
    if spec.inputs.keep_texts:
        return False
    input_spec = spec.inputs.declared_as(name)
    return input_spec.type == "boolean" if input_spec is not None else isinstance(spec.inputs.values.get(name), bool)


BAD_TEMPLATE = Code("bad-template", "A template or condition that does not compile.", "Correct its syntax.")
# How other programs name all inputs.
_WHOLES = ("input", "inputs", "variables", "vars", "params")
# Words of other programs for `else`.
_OTHERWISE = ("default", "otherwise", "always")
UNDECLARED_VARIABLE = Code(
    "undeclared-variable", "A template uses a variable that no input declares.", "Declare it under `inputs`."
)

_RAW_FIX = "put what is meant as text between `{% raw %}` and `{% endraw %}`"
SINGLE_BRACES = Code(
    "single-braces",
    "A text has `{name}` with a name that templates know, and stays as it is.",
    "Write `{{ name }}`, or `{{ '{name}' }}` for that text.",
)
# A lone word in braces outside a larger form, and the templates of a text, with braces of their own.
_SINGLE = re.compile(r"(?<![\w{$\\%}])\{[ \t]*([A-Za-z_]\w*)[ \t]*\}(?!\})")
_RAW = r"\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}"
# The path of a service within a sentence: `GET /users/{id}`.
_ROUTE = r"(?<=[\s\"'`(])(?=/\w)(?:/(?:[\w.~-]+|\{\w+\}))+(?=[\s\"'`),;:?]|\.?(?:\s|$))"
_TEMPLATES = re.compile(_RAW + r"|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|" + _ROUTE, re.DOTALL)


def check_spec(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Yield every fault of a well-formed workflow."""
    yield from check_sections(spec, workflow)
    yield from check_pattern(spec, workflow)
    yield from check_templates(spec, workflow)


def check_templates(spec: WorkflowSpec, workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Compile every template and condition, and check the names that it uses."""
    templates = spec.templates()
    inputs = {*spec.inputs.declared(), *spec.inputs.values}
    plain = [
        Site(f"/agents/{escape(name)}/prompt", agent.prompt, {})
        for name, agent in spec.agents.items()
        if agent.prompt is not None and not is_prompt_template(agent.prompt)
    ]
    for site in plain:
        yield from _single_braces(site, inputs, workflow)
        if "{%" in site.text and {str(path[0]) for path in templates.paths_in(site.text)} & {
            *inputs,
            *reserved_names(),
        }:
            message = "`{% %}` has no effect in a prompt without `{{`"
            yield no_effect(message, workflow.where(site.pointer), "write `{{ '' }}` into it to make it a template")
    seen, reports = set[tuple[str, Path]](), set[tuple[Where | None, str]]()
    for site in template_sites(spec):
        if not site.is_condition and "{" not in site.text and "$TRACE" not in site.text:
            continue  # it renders nothing
        error = _error_of(site, templates, workflow)
        if error is not None:
            yield _syntax(site, error, workflow)
            continue
        if not site.is_condition:
            yield from _single_braces(site, inputs, workflow)
        yield from check_comparisons(site, templates, spec, workflow)
        for of_answer in check_answers(site, templates, spec, workflow):
            if (of_answer.where, of_answer.message) not in reports:
                reports.add((of_answer.where, of_answer.message))
                yield of_answer
        paths = sorted(_paths(templates, site), key=spoken_path)
        hyphened = paths if "-" in site.text else ()  # which all ids are looked at for
        ends = {end for path in hyphened for end in (_hyphened(path, site.scope) or "").split("-")[1:]}
        for path in paths:
            if str(path[0]) in ends:
                continue  # the end of an id with a hyphen, a finding
            finding = _name(site, path, inputs, workflow) if (site.pointer, path) not in seen else None
            if finding is not None:
                seen.add((site.pointer, path))  # a prompt has a site for each use
                is_prompt = site.pointer.startswith("/agents/")
                yield replace(finding, fix=f"{finding.fix}; or {_RAW_FIX}") if is_prompt else finding


def _single_braces(site: Site, inputs: Collection[str], workflow: LoadedWorkflow) -> Iterator[Finding]:
    """Report a known name in the braces of other languages' templates, each name once."""
    if site.text.count("{") == 2 * site.text.count("{{"):
        return  # each is one of a pair
    # Templates are blanked to the same length, so that lines stay as they are.
    text = _TEMPLATES.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), site.text)
    seen = set[str]()
    for match in _SINGLE.finditer(text):
        name = match[1]
        if name not in seen and (name in inputs or name in site.scope):
            seen.add(name)
            where = workflow.where_in_text(site.pointer, text.count("\n", 0, match.start()) + 1)
            message = f"`{match[0]}` is plain text here, and `{name}` is a name that templates know"
            yield Finding(SINGLE_BRACES, message, where, f"did you mean `{{{{ {name} }}}}`?", "warning")


def _paths(templates: Templates, site: Site) -> frozenset[Path]:
    return templates.paths_in(site.text, is_condition=site.is_condition)


def _error_of(site: Site, templates: Templates, workflow: LoadedWorkflow) -> TemplateError | None:
    """Return why a template does not compile; None if it does.

    Raises:
        StrandsCliError: It has a filter of a distribution that may not be imported; the findings have its place.
    """
    try:
        return templates.condition_error(site.text) if site.is_condition else templates.template_error(site.text)
    except StrandsCliError as refused:
        where = workflow.where(site.pointer)
        refused.findings = tuple(
            finding if finding.where else replace(finding, where=where) for finding in refused.findings
        )
        raise


def _syntax(site: Site, error: TemplateError, workflow: LoadedWorkflow) -> Finding:
    kind = "condition" if site.is_condition else "template"
    where = workflow.where_in_text(site.pointer, error.line)
    # The message names the similar filter, where there is one.
    problem, separator, guess = error.message.partition("; did you mean ")
    fix = f"did you mean {guess}" if separator else "see `strands explain supported` for the filters"
    if error.is_syntax:
        problem, fix = explain_syntax(site.text, problem, is_condition=site.is_condition)
    return Finding(BAD_TEMPLATE, f"the {kind} does not compile: {problem}", where, fix, edits=error.edits)


def _name(site: Site, path: Path, inputs: Collection[str], workflow: LoadedWorkflow) -> Finding | None:
    root = str(path[0])
    if root in site.scope:
        return _attribute(site, path, workflow)
    if root in inputs:
        return None
    where = workflow.where(site.pointer)
    if root in reserved_names():
        names = ", ".join(sorted(site.scope))
        hint = f"known here besides inputs: {names}" if names else "known here: inputs only"
        # It may be an input that nothing declares; if not, no run starts.
        severity: Severity = "warning" if root in YIELDING else "error"
        if root in YIELDING:
            hint += f"; for a value of your own: `inputs: {{required: {{{root}: string}}}}`"
        return Finding(UNKNOWN_NAME, f"`{root}` is not known here{site.use}", where, hint, severity)
    fix = suggest(root, [*site.scope, *inputs], f"declare it: `inputs: {{required: {{{root}: string}}}}`", form="`{}`")
    if site.is_condition and root in _OTHERWISE:
        fix = "write `else`, which holds where no other condition does"
    if root in _WHOLES and len(path) > 1 and str(path[1]) in inputs:
        fix = f"write `{path[1]}`: an input has no prefix"
    edits = clear_edit(root, [*site.scope, *inputs], of_author=True)
    edits = tuple(edit if edit.new in inputs else replace(edit, kind="word") for edit in edits)
    message = f"no input declares `{root}`; a run needs `--var {root}=...`"
    return Finding(UNDECLARED_VARIABLE, message, where, fix, "warning", edits=edits)


def _attribute(site: Site, path: Path, workflow: LoadedWorkflow) -> Finding | None:
    problem = problem_of(path, site.scope)
    if problem is None:
        return None
    key = _hyphened(path, site.scope)
    hyphened = f"write `{path[0]}[{key!r}]`: a hyphen means minus" if key else None
    close = did_you_mean(problem.word, problem.known_names)
    hint = f"known: {', '.join(problem.known_names)}" if problem.known_names else None
    severity: Severity = "error"
    if not problem.is_certain:
        hint, severity = "write `| default('')` behind it, so that the run goes on without it", "warning"
    fix = hyphened or (f"did you mean `{close}`?" if close else hint)
    edits = () if hyphened else _in_path(problem.word, problem.known_names, path)
    where = workflow.where(site.pointer)
    return Finding(UNKNOWN_NAME, f"{problem.message}{site.use}", where, fix, severity, edits=edits)


def _in_path(word: str, known_names: Collection[str], path: Path) -> tuple[Edit, ...]:
    """Return the edit of a word in a path, with what is before it."""
    position = next((number for number, part in enumerate(path) if number and part == word), 0)
    if not position:
        return ()
    is_id = position == 1 and path[0] in _RESULTS
    before = f"[{path[position - 1]}]." if isinstance(path[position - 1], int) else f"{path[position - 1]}."
    edits = clear_edit(word, known_names, of_author=is_id)
    return tuple(Edit(before + edit.old, before + edit.new, edit.kind) for edit in edits)


def _hyphened(path: Path, scope: Scope) -> str | None:
    """Return the id with a hyphen before which a path stops: `a-b` means a minus b."""
    ids = scope.get(str(path[0]))
    if len(path) < 2 or not isinstance(ids, dict):
        return None
    return next((str(name) for name in ids if str(name).startswith(f"{path[1]}-")), None)
