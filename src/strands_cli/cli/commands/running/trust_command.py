"""The command `workflows trust`, and its question before a first run: what the workflow may start and open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.cli.commands.command_options import SPEC
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import one_line
from strands_cli.planning.authority_sentences import file_to_trust, trust_refusal

if TYPE_CHECKING:
    from strands_cli.planning.data_flow.workflow_trust import Trust
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.workflow.parts.agent_file import Atomic


def trust(
    spec: SPEC,
    forget: Annotated[bool, typer.Option("--forget", help="Take the answer back: the next run asks again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Trust a workflow with what it starts and opens; a change of that asks again.

    Example: strands workflows trust report.yaml
    """
    from strands_cli.cli.terminal.terminal_human import is_interactive
    from strands_cli.planning.authority_sentences import python_lines, use_lines
    from strands_cli.planning.data_flow.workflow_trust import Trust

    trust_record = Trust.of(_planned(spec), whole=True)
    uses_asked, file, own = (
        trust_record.authority.asked_uses,
        trust_record.plan.packaged or trust_record.plan.file,
        python_lines(trust_record),
    )
    if forget:
        trust_record.forget()
    elif uses_asked or own:
        if is_interactive() and not as_json and not _agreed(trust_record):
            raise trust_refusal(trust_record)
        trust_record.keep()
    if as_json:
        uses = [use.as_dict() for use in uses_asked]
        print_json(
            {"file": file, "digest": trust_record.authority.digest, "standing": trust_record.standing, "uses": uses}
        )
        return
    heads = {"allowed": "may do this without a question:", "unanswered": "asks before it does this:"}
    head = (
        heads.get(trust_record.standing, "is denied by a rule to do this:") if uses_asked or own else "needs no answer"
    )
    lines = [f"{file}: {head}", *(f"  {line}" for line in (*use_lines(uses_asked, is_marked=False), *own))]
    print_result("\n".join(map(one_line, lines)))


def _planned(spec: str) -> Plan:
    """Return the plan of a workflow, of an agent in a file of its own, or of another client's list of servers."""
    import dataclasses

    from strands_cli import app
    from strands_cli.planning.single_call import call_workflow
    from strands_cli.planning.workflow_folder import agent_workflow_of, is_workflow
    from strands_cli.workflow.packaged_listing import located
    from strands_cli.workflow.parts.agent_file import is_agent_file, read_atomic
    from strands_cli.workflow.parts.client_servers import has_client_servers
    from strands_cli.yaml_files.document_reader import read_document

    source, snapshot = located(spec, "workflow", "agent")
    document = read_document(source)
    if has_client_servers(document):
        return dataclasses.replace(app.plan(call_workflow("mcp:all", declared_in=spec)), file=spec)
    if is_workflow(document) or not is_agent_file(document.value):
        return app.plan(app.load(source, document.text, snapshot))
    packaged = snapshot.packaged if snapshot is not None else ""
    return app.plan(agent_workflow_of(dataclasses.replace(read_atomic(document), packaged=packaged)).load())


def require_trust(plan: Plan, *, may_ask: bool = True, whole: bool = False) -> None:
    """Ask a person once about the programs and places of a workflow, before any of it is done; store a yes.

    Args:
        may_ask: Whether the person may be asked here, if there is a terminal.
        whole: Whether parts that no step uses may be started too.

    Raises:
        Denied: The person does not agree, a rule denies it, or no person can be asked.
    """
    from strands_cli.cli.terminal.terminal_human import is_interactive
    from strands_cli.planning.data_flow.workflow_trust import Trust

    record, may_ask = Trust.of(plan, whole=whole), may_ask and is_interactive()
    if record.standing == "allowed" and not (may_ask and record.unconfirmed_python):
        return
    if record.standing == "denied" or not may_ask or not _agreed(record):
        raise trust_refusal(record)
    record.keep()


def require_trust_of_agent(atomic: Atomic, request: RunRequest) -> None:
    """Ask the same about an agent in a file of its own, whatever its input will be."""
    from strands_cli import app
    from strands_cli.planning.workflow_folder import agent_workflow_of

    require_trust(app.plan(agent_workflow_of(atomic).load(), request))


def require_trust_in(spec: str) -> None:
    """Ask the same about a file of which a command starts a part, such as one server.

    Raises:
        Denied: As in `require_trust`.
    """
    require_trust(_planned(spec), whole=True)


def _agreed(record: Trust) -> bool:
    """Show everything that the workflow uses and sends, and return whether the person agrees."""
    from strands_cli.cli.terminal.terminal_human import Keyboard
    from strands_cli.planning.authority_sentences import authority_sections, python_lines

    plan, keyboard = record.plan, Keyboard()
    say(one_line(f"? May {file_to_trust(plan)} do this? You are asked once, and again when it changes."))
    if record.authority.foreign:
        say(one_line(f"  You are asked about all of it, since it {record.authority.foreign}."))
    for title, sentences in authority_sections(record.authority, is_complete=plan.is_complete).items():
        for line in [title, *(f"  {sentence}" for sentence in sentences)]:
            say(one_line(f"  {line}"))
    for line in python_lines(record):
        say(one_line(f"  {line}"))
    keyboard.discard_typed()
    while (typed := keyboard.read_line("  [y/N] ")) is not None:
        if typed.strip().lower() in ("y", "yes"):
            return True
        if typed.strip().lower() in ("n", "no", ""):
            return False
        say("  answer yes or no")
    say("")
    return False
