"""The commands under `plugin` that the core has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.output.messages import say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.errors import ExitCode, Finding, InvalidInput, StrandsCliError, suggest
from strands_cli.plugins.plugin_source import UNKNOWN_DISTRIBUTION

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.plugins.verify import Plugin, VerificationResult
    from strands_cli.policy.decision import Policy, SwitchedOn


# The command `plugin list`: list the installed distributions that provide tools, hooks, commands or stores.


def list_installed(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List the installed plugins: versions, sources, tools, hooks and other parts.

    Tools are not imported; enabled hook plugins are.

    Example: strands plugin list --json
    """
    from strands_cli.hooks.hook_plugins import open_hooks
    from strands_cli.hooks.hook_values import HookContext
    from strands_cli.parts.named_parts import faulty_parts
    from strands_cli.plugins.verify import list_plugins

    policy, findings = _policy()
    hooks = open_hooks(policy.hooks)
    catalog = hooks.discover(HookContext(rules=policy.rules), Path.cwd())
    plugins = list_plugins(catalog, (*policy.hooks, *_of_config()))
    findings = (*findings, *faulty_parts())
    if as_json:
        finding_documents = [finding.as_dict() for finding in (*findings, *catalog.findings)]
        print_json({"plugins": [plugin.as_dict() for plugin in plugins], "findings": finding_documents})
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
    from strands_cli.config import read_settings
    from strands_cli.policy.decision import Policy
    from strands_cli.user_files.policy_files import read_policies

    try:
        return read_policies(read_settings(), Path.cwd()), ()
    except StrandsCliError as error:  # a list is not a run: it reports the error and continues
        return Policy(), error.findings


def _table(plugins: Sequence[Plugin]) -> list[str]:
    rows = [("distribution", "version", "source", "tools", "hooks", "status")]
    for plugin in plugins:
        on = "on, may allow" if plugin.hooks_may else "on" if plugin.hooks_on else "off"
        hooks = on if plugin.hooks else "-"
        tools = str(plugin.tool_count) if plugin.tools else "-"
        rows.append((plugin.name, plugin.version or "?", ",".join(plugin.sources) or "-", tools, hooks, plugin.status))
    lines = table(rows)
    lines += [f"{plugin.name} provides the {', '.join(plugin.packaged)}" for plugin in plugins if plugin.packaged]
    lines += [
        f"{plugin.name} {', '.join(dict.fromkeys(part.adds for part in plugin.parts))}"
        for plugin in plugins
        if plugin.parts
    ]
    lines += [f"{plugin.name} is published by {plugin.publisher}" for plugin in plugins if plugin.publisher is not None]
    return lines


# The command `plugin verify`: compare files with those that were installed.


def verify(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME]...",
            help="Distributions; default: all plugins, and what they require.",
            autocompletion=completions.distributions,
        ),
    ] = [],  # noqa: B006 - Typer's form of an optional list
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Compare installed files with the RECORD of their distribution; exit 3 if one is changed, missing or added.

    It shows who published each one, as was verified when it was installed.

    Example: strands plugin verify strands-tool-calculator
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.verify import verify_distribution

    catalog = discover_catalog()
    chosen_names = [_installed(name, catalog) for name in names] or _plugins_and_required(catalog)
    done = [verify_distribution(name, catalog) for name in dict.fromkeys(chosen_names)]
    publishers = {result.name: _publisher(result, catalog) for result in done}
    ok = all(result.ok for result in done)
    if as_json:
        distributions = [
            {
                "name": result.name,
                "version": result.version,
                "ok": result.ok,
                "files": result.compared,
                "publisher": publishers[result.name],
                "findings": [finding.as_dict() for finding in result.findings],
            }
            for result in done
        ]
        print_json({"ok": ok, "distributions": distributions})
    else:
        for result in done:
            say_findings(result.findings)
            verdict = f"{result.compared} files are as they were installed" if result.ok else "not as it was installed"
            verdict = verdict if result.compared else "nothing to compare"
            print_result(f"{result.name} {result.version or '?'}: {verdict}; {_words(publishers[result.name])}")
    return ExitCode.OK if ok else ExitCode.INVALID


def _publisher(verified: VerificationResult, catalog: Catalog) -> dict[str, Any]:
    """Return the JSON of who published a distribution; a distribution changed since its RECORD has none."""
    from strands_cli.catalog.publisher_records import publisher_of

    publisher = publisher_of(verified.name, catalog.scan) if verified.ok else None
    if publisher is not None:
        return {"status": "verified", "publisher": publisher.as_dict(), "reason": None}
    reason = "it was not verified here" if verified.ok else "its files are not as they were installed"
    return {"status": "unverified", "publisher": None, "reason": reason}


def _words(stated: dict[str, Any]) -> str:
    from strands_cli.publishers import publisher_from

    if stated["publisher"] is None:
        return f"publisher: {stated['status']} ({stated['reason']})"
    return f"published by {publisher_from(stated['publisher'])}"


def _plugins_and_required(catalog: Catalog) -> list[str]:
    """Return the distributions of all plugins, then those that they require, whose code runs with theirs."""
    from strands_cli.catalog.publisher_records import required_distributions
    from strands_cli.plugins.verify import list_plugins

    plugins = [plugin.name for plugin in list_plugins(catalog)]
    required = required_distributions(plugins, catalog.scan)
    return [*plugins, *sorted({name for names in required.values() for name in names})]


def _installed(name: str, catalog: Catalog) -> str:
    """Return the normalised name of an installed distribution, with or without tools."""
    from strands_cli.catalog.distributions.entry_points import normalise

    plain = normalise(name)
    if plain not in catalog.scan.records:
        message = f"no distribution '{name}' is installed"
        finding = Finding(UNKNOWN_DISTRIBUTION, message, None, suggest(plain, catalog.scan.records))
        raise InvalidInput(message, findings=[finding])
    return plain
