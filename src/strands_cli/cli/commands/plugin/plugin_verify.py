"""The command `plugin verify`: compare files with those that were installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.plugin.publisher_lines import publisher_words, wrong_publisher
from strands_cli.cli.output.messages import say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import ExitCode, Finding, InvalidInput, suggest
from strands_cli.plugins.check.project import UNKNOWN_DISTRIBUTION

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.plugins.installed.verify import Verified
    from strands_cli.plugins.publisher.attested import Attested


def verify(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME]...",
            help="Distributions; default: all plugins, and what they require.",
            autocompletion=completions.distributions,
        ),
    ] = [],  # noqa: B006 - Typer's form of an optional list
    publisher: Annotated[
        bool, typer.Option("--publisher", help="Ask the index again who published them, and keep the answer.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Compare installed files with the RECORD of their distribution; exit 3 if one is changed, missing or added.

    It shows who published each one, as was verified when it was installed. `--publisher` fetches the wheels again and
    verifies their attestations; exit 21 if one is wrong.

    Example: strands plugin verify strands-tool-calculator
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.installed.verify import verify_distribution

    catalog = discover_catalog()
    wanted = [_installed(name, catalog) for name in names] or _plugins_and_required(catalog)
    done = [verify_distribution(name, catalog) for name in dict.fromkeys(wanted)]
    published = _publishers(done, catalog, ask=publisher)
    wrong = {name: wrong_publisher(name, one) for name, one in published.items() if one.status == "wrong"}
    ok = all(one.ok for one in done) and not wrong
    if as_json:
        distributions = [
            {
                "name": one.name,
                "version": one.version,
                "ok": one.ok and one.name not in wrong,
                "files": one.compared,
                "publisher": published[one.name].as_dict(),
                "findings": [finding.as_dict() for finding in (*one.findings, *_present(wrong.get(one.name)))],
            }
            for one in done
        ]
        print_json({"ok": ok, "distributions": distributions})
    else:
        for one in done:
            say_findings((*one.findings, *_present(wrong.get(one.name))))
            verdict = f"{one.compared} files are as they were installed" if one.ok else "not as it was installed"
            verdict = verdict if one.compared else "nothing to compare"
            print_result(f"{one.name} {one.version or '?'}: {verdict}; {publisher_words(published[one.name])}")
    if wrong:
        return ExitCode.DENIED
    return ExitCode.OK if ok else ExitCode.INVALID


def _publishers(done: Sequence[Verified], catalog: Catalog, *, ask: bool) -> dict[str, Attested]:
    """Return the publisher of each distribution; what is installed otherwise than RECORD states has none."""
    from strands_cli.plugins.publisher.attested import unverified
    from strands_cli.plugins.publisher.publisher_check import check_installed, stored_publisher

    changed = unverified("its files are not as they were installed")
    if not ask:
        return {one.name: stored_publisher(one.name, catalog.seen) if one.ok else changed for one in done}
    from strands_cli.plugins.install.installer import find_installer

    installer = find_installer()
    return {one.name: check_installed(one.name, catalog.seen, installer) if one.ok else changed for one in done}


def _present(finding: Finding | None) -> tuple[Finding, ...]:
    return (finding,) if finding is not None else ()


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
