"""Variables before a run: a template variable that nothing defines is an error before the first call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.errors import Code, Finding, suggest
from strands_cli.workflow import WorkflowSpec, template_sites
from strands_cli.workflow.patterns import reserved_names
from strands_cli.workflow.templates import Templates
from strands_cli.workflow.yaml import Document

UNDEFINED_VARIABLE = Code(
    "undefined-variable",
    "A template uses a variable that nothing defines for this run.",
    "Declare it under `inputs`, or give it with --var.",
    2,
)


def check_variables(spec: WorkflowSpec, document: Document, inputs: Mapping[str, Any]) -> list[Finding]:
    """Return a finding for each variable that templates use and neither the run's inputs nor the pattern defines."""
    templates = Templates()
    findings: dict[str, Finding] = {}
    for site in template_sites(spec):
        paths = templates.paths_in_condition(site.text) if site.is_condition else templates.paths_in(site.text)
        for name in sorted(str(path[0]) for path in paths):
            if name in site.scope or name in inputs or name in reserved_names() or name in findings:
                continue
            if name in spec.inputs.declared():
                continue  # declared and without a value: that has its own finding
            fix = suggest(name, inputs, f"pass --var {name}=VALUE, or declare it under `inputs`")
            message = f"a template uses '{name}', which nothing defines"
            findings[name] = Finding(UNDEFINED_VARIABLE, message, document.where(site.pointer), fix)
    return list(findings.values())
