"""The command `plugin list`: list the installed distributions that provide tools, hooks, commands or stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output.messages import say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.errors import StrandsCliError

if TYPE_CHECKING:
    from strands_cli.plugins.installed.listing import Plugin
    from strands_cli.policy.policy import Policy, SwitchedOn


def list_installed(as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False) -> None:
    """List the installed plugins: version, source, tools, whether their hooks are on, and what else they bring.

    Tools are not imported; hook plugins that are switched on are.

    Example: strands plugin list --json
    """
    from strands_cli.hooks.hook_plugins import open_hooks
    from strands_cli.hooks.hook_values import HookContext
    from strands_cli.parts.part_faults import faulty_parts
    from strands_cli.plugins.installed.listing import list_plugins

    policy, findings = _policy()
    hooks = open_hooks(policy.hooks)
    catalog = hooks.discover(HookContext(rules=policy.rules), Path.cwd())
    plugins = list_plugins(catalog, (*policy.hooks, *_of_config()))
    findings = (*findings, *faulty_parts())
    if as_json:
        found = [finding.as_dict() for finding in (*findings, *catalog.findings)]
        print_json({"plugins": [plugin.as_dict() for plugin in plugins], "findings": found})
        return
    say_findings((*findings, *catalog.findings))
    print_result("\n".join(_table(plugins)) if plugins else "no plugin is installed")


def _of_config() -> tuple[SwitchedOn, ...]:
    from strands_cli.parts.notify_hooks import switched_on_by_config

    try:
        return tuple(filter(None, [switched_on_by_config()]))
    except StrandsCliError:  # who uses the file reports it
        return ()


def _policy() -> tuple[Policy, tuple[Any, ...]]:
    from strands_cli.config import load_settings
    from strands_cli.policy.policy import Policy
    from strands_cli.user_files.policy_files import load_policy

    try:
        return load_policy(load_settings(), Path.cwd()), ()
    except StrandsCliError as error:  # a list is not a run: it reports the error and continues
        return Policy(), error.findings


def _table(plugins: Sequence[Plugin]) -> list[str]:
    rows = [("distribution", "version", "source", "tools", "hooks", "status")]
    for one in plugins:
        on = "on, may allow" if one.hooks_may else "on" if one.hooks_on else "off"
        hooks = on if one.hooks else "-"
        tools = str(one.tool_count) if one.tools else "-"
        rows.append((one.name, one.version or "?", ",".join(one.sources) or "-", tools, hooks, one.status))
    lines = table(rows)
    lines += [f"{one.name} provides the {', '.join(one.packaged)}" for one in plugins if one.packaged]
    lines += [f"{one.name} {', '.join(dict.fromkeys(part.adds for part in one.parts))}" for one in plugins if one.parts]
    lines += [f"{one.name} is published by {one.publisher}" for one in plugins if one.publisher is not None]
    return lines
