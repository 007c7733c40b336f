"""Why a workflow does not run that no person has allowed, for commands and for the Python API."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from strands_cli.errors import Code, Denied, Finding, Where
from strands_cli.planning.sentences.authority_sentences import python_lines, use_lines

if TYPE_CHECKING:
    from strands_cli.planning.data_flow.workflow_trust import Trust
    from strands_cli.planning.plan.plan_values import Plan

UNTRUSTED_WORKFLOW = Code(
    "untrusted-workflow",
    "The workflow starts a program, or opens a folder, a file or a private network, which no person has allowed.",
    "Read what it does (strands explain FILE), then allow it: strands trust FILE",
    21,
)


def require_trust_in_package(plan: Plan) -> None:
    """Refuse a packaged workflow, or one with such a tool, of which a person has not allowed what it uses.

    A program that names a file has read it; what a package has changes with an upgrade. A workflow of others that the
    person's own has as a tool is refused as well.

    Raises:
        Denied: It uses something, and no person has allowed that, or a rule denies it.
    """
    from strands_cli.planning.data_flow.workflow_trust import Trust

    if not Trust.is_about_packages(plan):
        return
    found = Trust.of(plan)
    if found.authority.foreign and found.standing != "allowed":
        raise trust_refusal(found)


def file_to_trust(plan: Plan) -> str:
    """Return the argument that names the file of a plan; that of an agent is a part of the workflow around it."""
    if plan.packaged:
        return plan.packaged
    if not plan.file.startswith("<"):
        return plan.file
    return next(iter(plan.files), "-") if plan.file.startswith("<atomic ") else "-"


def trust_refusal(found: Trust) -> Denied:
    """Return the error that says what no person has allowed, or what a rule denies."""
    plan, is_denied = found.plan, found.standing == "denied"
    file = shlex.quote(file_to_trust(plan))
    # Another client's list of servers has nothing that `explain` could tell.
    how = "" if file.endswith(".json") else f" (strands explain {file})"
    fix = f"read it{how}, then allow it: strands trust {file}"
    if file == "-":  # a command that is typed next has other standard input
        fix = "save it as FILE, read it (strands explain FILE), then allow it: strands trust FILE"
    if is_denied:
        fix = f"have the rule changed that denies workflow:{file}"
    unanswered = found.authority.asked if found.standing != "allowed" else ()
    lines = [line.removesuffix(".") for line in use_lines(unanswered, is_marked=False)] + python_lines(found)
    findings = [Finding(UNTRUSTED_WORKFLOW, line, Where(file_to_trust(plan)), fix) for line in lines]
    message = "a rule denies" if is_denied else "no person has allowed"
    return Denied(f"{file_to_trust(plan)} does not run: {message} what it starts and opens", findings=findings)
