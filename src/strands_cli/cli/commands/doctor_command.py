"""The command `doctor`: report whether everything that a run needs works here."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.errors import ExitCode

if TYPE_CHECKING:
    from strands_cli.config import Settings
    from strands_cli.doctor.diagnosis import Examination
    from strands_cli.doctor.os_layers import Found
    from strands_cli.hooks.hook_values import Check


def doctor(
    no_engines: Annotated[bool, typer.Option("--no-engines", help="Run no tool's self-test of its engines.")] = False,
    notify: Annotated[
        bool, typer.Option("--notify", help="Send a test message to each target of your config file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print every line as JSON.")] = False,
) -> int:
    """Check Python, the SDK, providers, tools, policy, lock, disk and store; exit 18 if something does not work.

    No tool is imported into this process, nothing is sent without --notify, and no key is shown. The table at the end
    lists the layers of protection that this machine has, and those of each platform.

    Example: strands doctor --json
    """
    from strands_cli.cli.commands.store_health import check_store
    from strands_cli.doctor.diagnosis import CORE, examine
    from strands_cli.notifications.run_notices import check_notifications

    settings, wrong = _settings()
    found = examine(settings, Path.cwd(), with_engines=not no_engines)
    own = [line for line in found.lines if line[0] == CORE]
    more = [(CORE, check) for check in (*(wrong or check_store(settings)), *check_notifications(settings, send=notify))]
    found = dataclasses.replace(found, lines=(*own, *more, *found.lines[len(own) :]))
    ok = not any(check.status == "failed" for _, check in found.lines)
    if as_json:
        print_json(_document(found, ok=ok))
    else:
        _print_lines(found)
        _print_layers(found.layers)
    return ExitCode.OK if ok else ExitCode.NOT_EQUIPPED


def _settings() -> tuple[Settings, list[Check]]:
    """Return the settings of this environment; without its store, and a line about it, where it names no usable one."""
    from strands_cli.config import load_settings
    from strands_cli.errors import UsageError
    from strands_cli.hooks.hook_values import Check

    try:
        return load_settings(), []
    except UsageError as error:
        others = {name: value for name, value in os.environ.items() if name != "STRANDS_STORE"}
        return load_settings(others), [Check("store", "failed", error.message, error.fix)]


def _print_lines(found: Examination) -> None:
    from strands_cli.doctor.diagnosis import CORE

    width = max(len(check.name) for _, check in found.lines)
    for plugin, check in found.lines:
        text = " ".join(check.message.split()) + (f"  [{plugin}]" if plugin != CORE else "")
        print_result(f"{check.status:8} {check.name:{width}}  {text}")
        if check.fix and check.status != "ok":
            print_result(f"{'':8} {'':{width}}  fix: {' '.join(check.fix.split())}")


def _print_layers(layers: tuple[Found, ...]) -> None:
    rows = [("layer", "here", "Linux", "macOS", "Windows", "prevents")]
    for found in layers:
        layer = found.layer
        prevents = layer.prevents + (f" ({found.detail})" if found.detail else "")
        rows.append((layer.name, found.here, layer.linux, layer.macos, layer.windows, prevents))
    print_result("\n".join(["", *table(rows)]))


def _document(found: Examination, *, ok: bool) -> dict[str, Any]:
    from strands_cli.doctor.diagnosis import CORE

    checks = [
        {
            "plugin": None if plugin == CORE else plugin,
            "name": check.name,
            "status": check.status,
            "message": check.message,
            "fix": check.fix,
        }
        for plugin, check in found.lines
    ]
    layers = [
        {
            "layer": one.layer.name,
            "keeps": one.layer.prevents,
            "here": one.here,
            "detail": one.detail,
            "linux": one.layer.linux,
            "macos": one.layer.macos,
            "windows": one.layer.windows,
        }
        for one in found.layers
    ]
    engines = [
        {
            "tool": one.tool,
            "engine": one.name,
            "available": one.available,
            "reason": one.reason,
            "layers": dict(one.layers),
        }
        for one in found.engines
    ]
    return {"ok": ok, "checks": checks, "layers": layers, "engines": engines}
