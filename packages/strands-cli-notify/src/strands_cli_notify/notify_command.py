"""The command `runs notify`: the targets of the user's config file, and a test message to each."""

from __future__ import annotations

from typing import Annotated

import typer

from strands_cli.api import ExitCode, print_json, print_result, say


def notify(
    test: Annotated[bool, typer.Option("--test", help="Send a test message to each target.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List whom your config file notifies of runs; with --test each gets a message; exit 18 if one does not arrive.

    Example: strands runs notify --test
    """
    from strands_cli_notify.hook import Notify, send_test

    checks = list(send_test() if test else Notify().strands_doctor_checks())
    failed = any(check.status == "failed" for check in checks)
    if as_json:
        lines = [{"status": check.status, "message": check.message, "fix": check.fix} for check in checks]
        print_json({"ok": not failed, "targets": lines})
    else:
        for check in checks:
            print_result(f"{check.status:8} {' '.join(check.message.split())}")
            if check.fix:
                print_result(f"{'':8} fix: {' '.join(check.fix.split())}")
    if not checks:
        say("your config file has no target: strands explain notifications")
    return ExitCode.NOT_EQUIPPED if failed else ExitCode.OK if checks else ExitCode.NO
