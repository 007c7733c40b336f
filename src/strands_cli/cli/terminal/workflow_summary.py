"""A workflow's title, description, tags and labels, as lines and as JSON; none of it reaches a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Code, Finding

if TYPE_CHECKING:
    from strands_cli.workflow.model import WorkflowSpec


# Findings in the formats that code hosts show beside the lines of a change.


SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def github_line(finding: Finding) -> str:
    """Return a finding as a workflow command of GitHub Actions.

    The format is that of https://docs.github.com/actions/reference/workflow-commands-for-github-actions. Characters
    that a value may not contain are percent-escaped, so that text from a file cannot become a command.
    """
    where = finding.where
    properties = {"file": where and where.file, "line": where and where.line, "col": where and where.column}
    present = {name: value for name, value in properties.items() if value} | {"title": finding.code}
    fields = ",".join(f"{name}={_property(str(value))}" for name, value in present.items())
    text = f"{finding.message}\nfix: {finding.fix}"
    return f"::{finding.severity} {fields}::{_message(text)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def sarif_document(findings: Iterable[Finding], version: str) -> dict[str, Any]:
    """Return findings as one SARIF 2.1.0 log (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""
    listed = list(findings)
    codes = sorted({finding.code for finding in listed})
    driver = {"name": "strands", "version": version, "rules": [_rule(code) for code in codes]}
    results = [_result(finding, codes.index(finding.code)) for finding in listed]
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _rule(code: Code) -> dict[str, Any]:
    return {"id": code, "shortDescription": {"text": code.meaning}, "help": {"text": code.remedy}}


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    text = f"{finding.message}\nfix: {finding.fix}"
    result = {"ruleId": finding.code, "ruleIndex": rule, "level": finding.severity, "message": {"text": text}}
    where = finding.where
    if where is None:
        return result
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(where.file)}}
    if where.line is not None:
        region = {"startLine": where.line, "startColumn": where.column}
        physical["region"] = {name: number for name, number in region.items() if number is not None}
    location: dict[str, Any] = {"physicalLocation": physical}
    if where.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": where.pointer, "kind": "member"}]
    return {**result, "locations": [location]}


def _uri(file: str) -> str:
    """Return a path as a URI reference; a relative path stays relative, as code hosts expect."""
    from pathlib import PurePath
    from urllib.parse import quote

    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def about_document(spec: WorkflowSpec) -> dict[str, Any]:
    """Return title, description, tags, labels and the descriptions of inputs; null or empty if absent."""
    metadata = spec.metadata
    return {
        "title": metadata.name,
        "description": "\n\n".join(filter(None, (spec.description, metadata.description))) or None,
        "tags": list(spec.tags),
        "labels": dict(metadata.labels),
        "inputs": {
            name: declared.description for name, declared in spec.inputs.declared().items() if declared.description
        },
    }


def about_lines(spec: WorkflowSpec) -> Iterator[str]:
    """Yield the lines of a plan that describe the purpose of a workflow."""
    about = about_document(spec)
    if about["title"]:
        yield f"title     {about['title']}"
    if about["description"]:
        yield f"about     {' '.join(about['description'].split())}"
    if about["tags"]:
        yield f"tags      {', '.join(about['tags'])}"
    yield from (f"label     {name} = {value}" for name, value in about["labels"].items())
