"""Checks of a workflow that has the right shape: names, references, templates, schemas, fields without effect."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from strands_cli.errors import Code, Finding, Severity, StrandsCliError, Where, did_you_mean, suggest
from strands_cli.workflow.checks.check_answers import check_answers
from strands_cli.workflow.checks.check_comparisons import check_comparisons
from strands_cli.workflow.checks.check_pattern import check_pattern
from strands_cli.workflow.checks.check_sections import check_sections
from strands_cli.workflow.findings import UNKNOWN_NAME, no_effect
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns.pattern_models import reserved_names
from strands_cli.workflow.placed_steps import Site
from strands_cli.workflow.template_places import template_sites
from strands_cli.workflow.template_scope import YIELDING, Scope, problem_of, spoken_path
from strands_cli.workflow.templates.syntax_help import explain_syntax
from strands_cli.workflow.templates.template import Templates, is_prompt_template
from strands_cli.workflow.templates.template_errors import Path, TemplateError
from strands_cli.yaml_files.document import escape

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
    "A text has `{name}` with the name of an input or of another value that templates know, and stays as it is.",
    "Write `{{ name }}`, or `{{ '{name}' }}` where the text is meant so.",
)
# A lone word in braces that is not part of a larger form, and the templates of a text, which have braces of their own.
_SINGLE = re.compile(r"(?<![\w{$\\%}])\{[ \t]*([A-Za-z_]\w*)[ \t]*\}(?!\})")
_RAW = r"\{%-?\s*raw\s*-?%\}.*?\{%-?\s*endraw\s*-?%\}"
# The path of a service within a sentence: `GET /users/{id}`.
_ROUTE = r"(?<=[\s\"'`(])(?=/\w)(?:/(?:[\w.~-]+|\{\w+\}))+(?=[\s\"'`),;:?]|\.?(?:\s|$))"
_TEMPLATES = re.compile(_RAW + r"|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|" + _ROUTE, re.DOTALL)


def check_spec(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield everything that is wrong in a well-formed workflow."""
    yield from check_sections(spec, loaded)
    yield from check_pattern(spec, loaded)
    yield from check_templates(spec, loaded)


def check_templates(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Compile every template and condition, and check the names that it uses."""
    templates = spec.templates()
    inputs = {*spec.inputs.declared(), *spec.inputs.values}
    plain = [
        Site(f"/agents/{escape(name)}/prompt", agent.prompt, {})
        for name, agent in spec.agents.items()
        if agent.prompt is not None and not is_prompt_template(agent.prompt)
    ]
    for site in plain:
        yield from _single_braces(site, inputs, loaded)
        if "{%" in site.text and {str(path[0]) for path in templates.paths_in(site.text)} & {
            *inputs,
            *reserved_names(),
        }:
            message = "`{% %}` has no effect in a prompt without `{{`"
            yield no_effect(message, loaded.where(site.pointer), "write `{{ '' }}` into it to make it a template")
    seen, told = set[tuple[str, Path]](), set[tuple[Where | None, str]]()
    for site in template_sites(spec):
        if not site.is_condition and "{" not in site.text and "$TRACE" not in site.text:
            continue  # it renders nothing
        error = _error_of(site, templates, loaded)
        if error is not None:
            yield _syntax(site, error, loaded)
            continue
        if not site.is_condition:
            yield from _single_braces(site, inputs, loaded)
        yield from check_comparisons(site, templates, spec, loaded)
        for of_answer in check_answers(site, templates, spec, loaded):
            if (of_answer.where, of_answer.message) not in told:
                told.add((of_answer.where, of_answer.message))
                yield of_answer
        paths = sorted(_paths(templates, site), key=spoken_path)
        hyphened = paths if "-" in site.text else ()  # which all ids are looked at for
        ends = {end for path in hyphened for end in (_hyphened(path, site.scope) or "").split("-")[1:]}
        for path in paths:
            if str(path[0]) in ends:
                continue  # the end of an id with a hyphen, which is a finding
            finding = _name(site, path, inputs, loaded) if (site.pointer, path) not in seen else None
            if finding is not None:
                seen.add((site.pointer, path))  # a prompt has a site for each use
                is_prompt = site.pointer.startswith("/agents/")
                yield replace(finding, fix=f"{finding.fix}; or {_RAW_FIX}") if is_prompt else finding


def _single_braces(site: Site, inputs: Collection[str], loaded: Loaded) -> Iterator[Finding]:
    """Report the braces of other languages' templates around a name that is known here, each name once."""
    if site.text.count("{") == 2 * site.text.count("{{"):
        return  # each is one of a pair
    # What templates take keeps its length, so that the line of the rest stays.
    text = _TEMPLATES.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), site.text)
    seen = set[str]()
    for found in _SINGLE.finditer(text):
        name = found[1]
        if name not in seen and (name in inputs or name in site.scope):
            seen.add(name)
            where = loaded.where_in_text(site.pointer, text.count("\n", 0, found.start()) + 1)
            message = f"`{found[0]}` is plain text here, and `{name}` is a name that templates know"
            yield Finding(SINGLE_BRACES, message, where, f"did you mean `{{{{ {name} }}}}`?", "warning")


def _paths(templates: Templates, site: Site) -> frozenset[Path]:
    return templates.paths_in(site.text, is_condition=site.is_condition)


def _error_of(site: Site, templates: Templates, loaded: Loaded) -> TemplateError | None:
    """Return why a template does not compile; None if it does.

    Raises:
        StrandsCliError: It has a filter of a distribution that may not be imported; the findings have its place.
    """
    try:
        return templates.condition_error(site.text) if site.is_condition else templates.template_error(site.text)
    except StrandsCliError as refused:
        where = loaded.where(site.pointer)
        refused.findings = tuple(one if one.where else replace(one, where=where) for one in refused.findings)
        raise


def _syntax(site: Site, error: TemplateError, loaded: Loaded) -> Finding:
    kind = "condition" if site.is_condition else "template"
    where = loaded.where_in_text(site.pointer, error.line)
    # The message names the filter that is meant, where there is one.
    problem, meant, guess = error.message.partition("; did you mean ")
    fix = f"did you mean {guess}" if meant else "see `strands list-supported` for the filters"
    if error.is_syntax:
        problem, fix = explain_syntax(site.text, problem, is_condition=site.is_condition)
    return Finding(BAD_TEMPLATE, f"the {kind} does not compile: {problem}", where, fix)


def _name(site: Site, path: Path, inputs: Collection[str], loaded: Loaded) -> Finding | None:
    root = str(path[0])
    if root in site.scope:
        return _attribute(site, path, loaded)
    if root in inputs:
        return None
    where = loaded.where(site.pointer)
    if root in reserved_names():
        names = ", ".join(sorted(site.scope))
        known = f"known here besides inputs: {names}" if names else "known here: inputs only"
        # It may be an input that nothing declares; if not, no run starts.
        severity: Severity = "warning" if root in YIELDING else "error"
        if root in YIELDING:
            known += f"; for a value of your own: `inputs: {{required: {{{root}: string}}}}`"
        return Finding(UNKNOWN_NAME, f"`{root}` is not known here{site.use}", where, known, severity)
    fix = suggest(root, [*site.scope, *inputs], f"declare it: `inputs: {{required: {{{root}: string}}}}`", form="`{}`")
    if site.is_condition and root in _OTHERWISE:
        fix = "write `else`, which holds where no other condition does"
    if root in _WHOLES and len(path) > 1 and str(path[1]) in inputs:
        fix = f"write `{path[1]}`: an input has no prefix"
    message = f"no input declares `{root}`; a run needs `--var {root}=...`"
    return Finding(UNDECLARED_VARIABLE, message, where, fix, "warning")


def _attribute(site: Site, path: Path, loaded: Loaded) -> Finding | None:
    problem = problem_of(path, site.scope)
    if problem is None:
        return None
    meant = _hyphened(path, site.scope)
    hyphened = f"write `{path[0]}[{meant!r}]`: a hyphen means minus" if meant else None
    close = did_you_mean(problem.word, problem.known)
    known = f"known: {', '.join(problem.known)}" if problem.known else None
    severity: Severity = "error"
    if not problem.is_certain:
        known, severity = "write `| default('')` behind it, so that the run goes on without it", "warning"
    fix = hyphened or (f"did you mean `{close}`?" if close else known)
    return Finding(UNKNOWN_NAME, f"{problem.message}{site.use}", loaded.where(site.pointer), fix, severity)


def _hyphened(path: Path, scope: Scope) -> str | None:
    """Return the id with a hyphen before which a path stops: `a-b` means a minus b."""
    ids = scope.get(str(path[0]))
    if len(path) < 2 or not isinstance(ids, dict):
        return None
    return next((str(name) for name in ids if str(name).startswith(f"{path[1]}-")), None)
