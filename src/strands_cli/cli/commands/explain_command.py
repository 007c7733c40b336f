"""The command `explain`: the steps of a workflow, the decision of policy on a tool, the meaning of a code."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import POLICY
from strands_cli.cli.commands.explain_pages import PAGES, page_text
from strands_cli.cli.output.messages import say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import one_line
from strands_cli.errors import Code, StrandsCliError, UsageError, suggest
from strands_cli.texts.phrases import joined

if TYPE_CHECKING:
    from strands_cli.planning.policy_explanation import Explanation
    from strands_cli.policy.decision import Decision
    from strands_cli.policy.rule import Rule


POLICY_TOPIC, SUPPORTED_TOPIC = "policy", "supported"
# Before a number they are no name of a code.
_EXIT_WORDS = ("exit", "exit-code", "code", "status")


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SPEC|CODE|policy",
            help="A workflow, a finding's code, an exit code, a page, `supported`, or `policy`.",
            autocompletion=completions.topics,
        ),
    ],
    ref: Annotated[
        str | None,
        typer.Argument(
            metavar="REF", help="With `policy`: the tool, by any reference.", autocompletion=completions.tools
        ),
    ] = None,
    spec: Annotated[
        str | None,
        typer.Argument(
            metavar="SPEC", help="With `policy`: a workflow that uses it.", autocompletion=completions.workflow_files
        ),
    ] = None,
    policy: POLICY = None,
    call_input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="With `policy`: the arguments of a call.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Explain a workflow, a finding's code, an exit code, or the policy for a tool; runs and imports nothing.

    `supported` lists patterns, steps, providers, tool references, template filters and exit codes.

    Example: strands explain report.yaml
    """
    if subject == SUPPORTED_TOPIC and ref is None:
        from strands_cli.cli.commands.list_commands import list_supported

        list_supported(as_json=as_json)
        return
    if subject != POLICY_TOPIC:
        _explain_one(subject, ref, more=ref is not None or call_input is not None, policy=policy, as_json=as_json)
        return
    if ref is None:
        raise UsageError("Missing argument 'REF'", fix="name the tool: strands explain policy native:NAME")
    document = policy_document(ref, spec, policy, call_input)
    if as_json:
        print_json(document)
    else:
        print_result("\n".join(map(one_line, _page(document))))


def _explain_one(subject: str, ref: str | None, *, more: bool, policy: Path | None, as_json: bool) -> None:
    """Explain a code or a workflow; an existing code wins over a file of the same name."""
    from strands_cli.cli.commands.explain_workflow import explain_spec, is_spec
    from strands_cli.cli.output.codes import declared_codes

    codes = declared_codes()
    if ref is not None and subject in _EXIT_WORDS and ref.isdecimal():
        subject, more = ref, False
    reads_spec = subject not in codes and not subject.isdecimal() and is_spec(subject)
    if more or (policy is not None and not reads_spec):
        is_finding_ref = ref is not None and (
            ref in codes or ref.isdecimal() or ref in PAGES
        )  # as in `explain finding CODE`
        message = f"only `explain {POLICY_TOPIC}` takes more than one argument"
        raise UsageError(message, fix=f"strands explain {ref if is_finding_ref else f'{POLICY_TOPIC} REF'}")
    if reads_spec:
        explain_spec(subject, policy, as_json=as_json)
    else:
        explain_code(subject, codes, as_json=as_json)


def explain_code(name: str, codes: Mapping[str, Code], *, as_json: bool) -> None:
    """Print the meaning of a code and the remedy.

    Raises:
        UsageError: There is no such code.
    """
    if name.isdecimal():
        _explain_exit(int(name), codes.values(), as_json=as_json)
        return
    if name in PAGES:
        _explain_page(name, as_json=as_json)
        return
    code = codes.get(name)
    if code is None:
        fix = suggest(name, [*codes, *PAGES], f"a finding has its code in brackets; pages: {', '.join(PAGES)}")
        raise UsageError(f"there is no code '{name}'", fix=fix)
    if as_json:
        print_json({"code": code, "meaning": code.meaning, "remedy": code.remedy, "exit_code": code.exit_code})
    else:
        print_result(f"{code}  (exit code {code.exit_code})\n  {code.meaning}\n  fix: {code.remedy}")


def _explain_page(name: str, *, as_json: bool) -> None:
    text = page_text(name)
    if as_json:
        print_json({"page": name, "text": text})
    else:
        print_result(text.rstrip())


def _explain_exit(number: int, codes: Iterable[Code], *, as_json: bool) -> None:
    """Print the meaning of an exit code and the findings that cause it."""
    from strands_cli.errors import exit_code_meanings

    meanings = {int(code): meaning for code, meaning in exit_code_meanings().items()}
    if number not in meanings:
        raise UsageError(f"there is no exit code {number}", fix=f"one of: {', '.join(map(str, meanings))}")
    codes_of_exit = sorted(code for code in codes if code.exit_code == number)
    if as_json:
        print_json({"exit_code": number, "meaning": meanings[number], "findings": codes_of_exit})
        return
    listed = f"\n  findings: {', '.join(codes_of_exit)}" if codes_of_exit else ""
    print_result(f"exit code {number}\n  {meanings[number]}{listed}")


def policy_document(
    ref: str, spec: str | None, policy_file: Path | None, call_input: str | None = None
) -> dict[str, Any]:
    """Return everything that policy decides about a reference, as one JSON document.

    An invalid policy file is part of the answer: every tool is denied then.

    Raises:
        StrandsCliError: The reference or the workflow is invalid.
    """
    from strands_cli import app
    from strands_cli.cli.commands.tool_list import read_this_installation
    from strands_cli.cli.commands.tools_commands import read_arguments
    from strands_cli.planning.policy_explanation import explain_policy
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.tools.calls.call_arguments import as_called
    from strands_cli.user_files.policy_files import policy_places, read_policies
    from strands_cli.workflow.packaged_listing import located

    installation = read_this_installation()
    arguments = read_arguments(call_input) if call_input is not None else None
    is_file = spec is not None and spec != "-" and located(spec)[1] is None
    folder = Path(str(spec)).absolute().parent if is_file else Path.cwd()
    places = [
        {"level": level, "file": str(path)} for level, path in policy_places(installation.settings, folder, policy_file)
    ]
    try:
        policy = read_policies(installation.settings, folder, policy_file)
    except StrandsCliError as error:
        say_findings(error.findings)
        denied = {"effect": "deny", "rule": error.message}
        broken = {"name": ref, "load": denied, "call": denied, "rules": [], "changes": ["correcting the policy file"]}
        return {"tools": [broken], "files": places, "findings": [finding.as_dict() for finding in error.findings]}
    say_findings(policy.findings)
    installation = dataclasses.replace(installation, policy=policy)
    planned = app.plan(spec, RunRequest(policy=policy_file), installation) if spec else None
    explanations = explain_policy(ref, installation, planned, arguments, as_called)
    read = {file for _, file in policy.files}
    return {
        "tools": [_document(explanation) for explanation in explanations],
        "files": [{**file_entry, "read": file_entry["file"] in read} for file_entry in places],
        "findings": [finding.as_dict() for finding in policy.findings],
    }


def _document(explanation: Explanation) -> dict[str, Any]:
    request = explanation.request
    return {
        "name": explanation.name,
        "names": list(request.names),
        "note": explanation.note,
        "distribution": request.distribution,
        "version": request.version,
        "sources": sorted(request.sources),
        "publisher": request.publisher,
        "capabilities": dict(request.capabilities),
        "load": _decision(explanation.load),
        "call": _decision(explanation.call),
        "rules": [
            *(_rule(rule, "for this call" if rule.is_conditional else "always") for rule in explanation.speaking),
            *(_rule(rule, "depends on the arguments") for rule in explanation.conditional),
        ],
        "changes": list(explanation.changes),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {"effect": decision.effect, "rule": decision.rule}


def _rule(rule: Rule, holds: str) -> dict[str, Any]:
    narrowed: dict[str, Any] = {
        "unless": list(rule.unless),
        "distribution": list(rule.distribution),
        "version": rule.version,
        "source": list(rule.sources),
        "capability": list(rule.capabilities),
        "publisher": list(rule.publisher),
        **{access: list(globs) for access, globs in rule.touching},
    }
    return {
        "effect": rule.effect,
        "pattern": rule.pattern,
        "level": rule.level,
        "origin": rule.origin,
        "reason": rule.reason,
        "holds": holds,
        **{key: value for key, value in narrowed.items() if value},
    }


def _page(document: dict[str, Any]) -> Iterable[str]:
    for tool in document["tools"]:
        yield from _tool_lines(tool)
        yield ""
    yield "policy files, the strongest first:"
    for file in document["files"]:
        read = "" if file.get("read", True) else "  (there is none)"
        yield f"  {file['level']:8} {file['file']}{read}"


def _tool_lines(tool: dict[str, Any]) -> Iterable[str]:
    where = f"{tool['distribution']} {tool['version'] or '?'}" if tool.get("distribution") else ""
    sources = ", ".join(tool.get("sources", ()))
    by = f"published by {tool['publisher']}" if tool.get("publisher") else ""
    yield "  ".join(filter(None, (tool["name"], where, f"from {sources}" if sources else "", by)))
    if tool.get("note"):
        yield f"  note    {tool['note']}"
    yield f"  load    {tool['load']['effect']}: {tool['load']['rule']}"
    yield f"  call    {tool['call']['effect']}: {tool['call']['rule']}"
    for rule in tool["rules"]:
        narrowed = [
            f"{key} {joined(rule[key])}"
            for key in ("unless", "distribution", "version", "source", "capability", "publisher")
            if key in rule
        ]
        text = " ".join([f"{rule['effect']} {rule['pattern']}", *narrowed])
        reason = f": {rule['reason']}" if rule["reason"] else ""
        yield f"  rule    {text}  ({rule['level']}, {rule['origin']}{reason}; {rule['holds']})"
    yield from (f"  change  {sentence}" for sentence in tool["changes"])
