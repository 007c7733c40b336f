"""The command `list-supported`: what this version supports, taken from the code that implements it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from strands_cli.cli.output.results import print_json, print_result
from strands_cli.default_parts import DEFAULTS, FILTERS, SECRETS
from strands_cli.default_parts import PATTERNS as PATTERN_GROUP
from strands_cli.parts.named_parts import parts_of

Rows = list[dict[str, Any]]
# One example of each form of reference that `toolref` reads; a test parses them.
REFERENCES = {
    "foo": "the workflow's own names first, then the installed tools",
    "native:foo@>=1.2,<2": "an installed tool, of a version",
    "native:strands-tool-yours/foo": "the tool of one distribution",
    "native:db.query": "one tool of a class, suite or provider",
    "strands_tools.foo": "the installed tool, or else the one of the older collection",
    "package.module:attr": "your own Python, if the allowlist names it",
    "mcp:server/tool": "a tool of an MCP server",
    "agent:researcher": "another agent of the workflow, as a tool",
    "workflow:./sub.yaml": "another workflow, as a tool",
}


def list_supported(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List what this version supports: patterns, steps, providers, tool references, template filters, exit codes.

    Example: strands list-supported
    """
    sections = {name.replace("_", " "): rows() for name, rows in _SECTIONS.items()}
    if as_json:
        print_json(dict(zip(_SECTIONS, sections.values(), strict=True)))
        return
    lines: list[str] = []
    for title, rows in sections.items():
        if not any(row["description"] for row in rows):
            lines += ["", title, f"  {', '.join(str(row['name']) for row in rows)}"]
            continue
        width = max(len(str(row["name"])) for row in rows)
        lines += ["", title, *(f"  {row['name']!s:{width}}  {row['description']}".rstrip() for row in rows)]
    print_result("\n".join(lines[1:]))


def _patterns() -> Rows:
    from strands_cli.workflow.patterns.pattern_models import PATTERNS

    rows = _named_parts(PATTERN_GROUP)
    return [{**row, "description": row["description"] or PATTERNS[str(row["name"])].purpose} for row in rows]


def _steps() -> Rows:
    from strands_cli.workflow.steps.step_models import AgentStep, CallStep, GateStep

    names = {"agent": AgentStep, "hitl": GateStep, "tool": CallStep}
    return [{"name": name, "description": (kind.__doc__ or "").split("\n")[0]} for name, kind in names.items()]


def _providers() -> Rows:
    from strands_cli.parts.named_providers import provider_by_name, provider_names

    providers = filter(None, map(provider_by_name, provider_names()))
    return [
        {
            "name": provider.name,
            "description": f"{provider.title}{_needs(provider.extra, provider.keys)}",
            "extra": provider.extra,
            "keys": list(provider.keys),
        }
        for provider in providers
    ]


def _needs(extra: str | None, keys: tuple[str, ...]) -> str:
    words = [*([f"pip install 'strands-cli[{extra}]'"] if extra else []), *([" or ".join(keys)] if keys else [])]
    return f" ({'; '.join(words)})" if words else ""


def _template_filters() -> Rows:
    from strands_cli.workflow.templates.sandbox import Sandbox

    own = [{"name": name, "description": ""} for name in sorted(Sandbox().filters)]
    return [*own, *(row for row in _named_parts(FILTERS) if row["name"] not in {one["name"] for one in own})]


def _named_parts(group: str) -> Rows:
    """Return the names of the core in a group, and those of installed distributions."""
    others = {part.name: part.distribution for part in parts_of(group) if part.name not in DEFAULTS[group]}
    own = [{"name": name, "description": ""} for name in DEFAULTS[group]]
    return [*own, *({"name": name, "description": f"of {others[name]}"} for name in sorted(others))]


def _secret_sources() -> Rows:
    return _named_parts(SECRETS)


def _exit_codes() -> Rows:
    from strands_cli.errors import exit_code_meanings

    return [{"name": code.value, "description": meaning} for code, meaning in exit_code_meanings().items()]


def _fields(kind: Any) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(kind, "model_fields", {})
    return fields


_SECTIONS: dict[str, Callable[[], Rows]] = {
    "patterns": _patterns,
    "steps": _steps,
    "providers": _providers,
    "tool_references": lambda: [{"name": form, "description": meaning} for form, meaning in REFERENCES.items()],
    "template_filters": _template_filters,
    "secret_sources": _secret_sources,
    "exit_codes": _exit_codes,
}
