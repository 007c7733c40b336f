"""The command `doctor`: report whether everything that a run needs works here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import ExitCode, print_json, print_result, table

if TYPE_CHECKING:
    from strands_cli_doctor.diagnosis import Examination
    from strands_cli_doctor.os_layers import LayerState


def doctor(
    no_engines: Annotated[bool, typer.Option("--no-engines", help="Run no tool's self-test of its engines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Check Python, the SDK, providers, tools, policy, lock, disk and store; exit 18 if something does not work.

    No tool is imported into this process, nothing is sent, and no key is shown. The table at the end lists the layers
    of protection that this machine has, and those of each platform.

    Example: strands doctor --json
    """
    from strands_cli_doctor.diagnosis import examine

    examination = examine(Path.cwd(), with_engines=not no_engines)
    ok = not any(check.status == "failed" for _, check in examination.lines)
    if as_json:
        print_json(_document(examination, ok=ok))
    else:
        _print_lines(examination)
        _print_layers(examination.layers)
    return ExitCode.OK if ok else ExitCode.NOT_EQUIPPED


def _print_lines(examination: Examination) -> None:
    width = max(len(check.name) for _, check in examination.lines)
    for plugin, check in examination.lines:
        text = " ".join(check.message.split()) + (f"  [{plugin}]" if plugin is not None else "")
        print_result(f"{check.status:8} {check.name:{width}}  {text}")
        if check.fix and check.status != "ok":
            print_result(f"{'':8} {'':{width}}  fix: {' '.join(check.fix.split())}")


def _print_layers(layers: tuple[LayerState, ...]) -> None:
    rows = [("layer", "here", "Linux", "macOS", "Windows", "prevents")]
    for layer_state in layers:
        layer = layer_state.layer
        prevents = layer.prevents + (f" ({layer_state.detail})" if layer_state.detail else "")
        rows.append((layer.name, layer_state.here, layer.linux, layer.macos, layer.windows, prevents))
    print_result("\n".join(["", *table(rows)]))


def _document(examination: Examination, *, ok: bool) -> dict[str, Any]:
    checks = [
        {
            "plugin": plugin,
            "name": check.name,
            "status": check.status,
            "message": check.message,
            "fix": check.fix,
        }
        for plugin, check in examination.lines
    ]
    layers = [
        {
            "layer": layer.layer.name,
            "keeps": layer.layer.prevents,
            "here": layer.here,
            "detail": layer.detail,
            "linux": layer.layer.linux,
            "macos": layer.layer.macos,
            "windows": layer.layer.windows,
        }
        for layer in examination.layers
    ]
    engines = [
        {
            "tool": engine.tool,
            "engine": engine.name,
            "available": engine.available,
            "reason": engine.reason,
            "layers": dict(engine.layers),
        }
        for engine in examination.engines
    ]
    return {"ok": ok, "checks": checks, "layers": layers, "engines": engines}
