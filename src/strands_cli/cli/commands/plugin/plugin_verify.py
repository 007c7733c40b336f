"""The command `plugin verify`: compare files with those that were installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.output.messages import say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import ExitCode, Finding, InvalidInput, suggest
from strands_cli.plugins.plugin_source import UNKNOWN_DISTRIBUTION

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.plugins.installed.verify import Verified


def verify(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME]...",
            help="Distributions; default: all plugins, and what they require.",
            autocompletion=completions.distributions,
        ),
    ] = [],  # noqa: B006 - Typer's form of an optional list
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Compare installed files with the RECORD of their distribution; exit 3 if one is changed, missing or added.

    It shows who published each one, as was verified when it was installed.

    Example: strands plugin verify strands-tool-calculator
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.installed.verify import verify_distribution

    catalog = discover_catalog()
    wanted = [_installed(name, catalog) for name in names] or _plugins_and_required(catalog)
    done = [verify_distribution(name, catalog) for name in dict.fromkeys(wanted)]
    publishers = {one.name: _publisher(one, catalog) for one in done}
    ok = all(one.ok for one in done)
    if as_json:
        distributions = [
            {
                "name": one.name,
                "version": one.version,
                "ok": one.ok,
                "files": one.compared,
                "publisher": publishers[one.name],
                "findings": [finding.as_dict() for finding in one.findings],
            }
            for one in done
        ]
        print_json({"ok": ok, "distributions": distributions})
    else:
        for one in done:
            say_findings(one.findings)
            verdict = f"{one.compared} files are as they were installed" if one.ok else "not as it was installed"
            verdict = verdict if one.compared else "nothing to compare"
            print_result(f"{one.name} {one.version or '?'}: {verdict}; {_words(publishers[one.name])}")
    return ExitCode.OK if ok else ExitCode.INVALID


def _publisher(verified: Verified, catalog: Catalog) -> dict[str, Any]:
    """Return the JSON of who published a distribution; one that is installed otherwise than RECORD states has none."""
    from strands_cli.catalog.publisher_records import publisher_of

    publisher = publisher_of(verified.name, catalog.seen) if verified.ok else None
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
    from strands_cli.catalog.dependencies import required_distributions
    from strands_cli.plugins.installed.listing import list_plugins

    plugins = [plugin.name for plugin in list_plugins(catalog)]
    required = required_distributions(plugins, catalog.seen)
    return [*plugins, *sorted({name for names in required.values() for name in names})]


def _installed(name: str, catalog: Catalog) -> str:
    """Return the normalised name of an installed distribution, with or without tools."""
    from strands_cli.catalog.distributions.entry_points import normalise

    plain = normalise(name)
    if plain not in catalog.seen.records:
        message = f"no distribution '{name}' is installed"
        finding = Finding(UNKNOWN_DISTRIBUTION, message, None, suggest(plain, catalog.seen.records))
        raise InvalidInput(message, findings=[finding])
    return plain
