"""The command `plugin publisher`: ask the indexes again who published installed distributions."""

from __future__ import annotations

from importlib.metadata import distributions
from typing import Annotated

import typer

from strands_cli.api import ExitCode, print_json, print_result, say_findings


def publisher(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Distributions; default: all plugins.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Ask the index again who published installed plugins, and keep the answer; exit 21 if a proof is wrong.

    Their wheels are fetched again and their attestations verified. `plugin verify` shows the kept answers.

    Example: strands plugin publisher strands-tool-calculator
    """
    from strands_cli_index.publishers.publisher_check import check_installed, publisher_words, wrong_publisher

    checked = {name: check_installed(name) for name in dict.fromkeys(names or _plugins())}
    wrong = {
        name: wrong_publisher(name, attestation)
        for name, attestation in checked.items()
        if attestation.status == "wrong"
    }
    if as_json:
        lines = [
            {
                "name": name,
                "publisher": attestation.as_dict(),
                "findings": [wrong[name].as_dict()] if name in wrong else [],
            }
            for name, attestation in checked.items()
        ]
        print_json({"ok": not wrong, "distributions": lines})
    else:
        say_findings(tuple(wrong.values()))
        for name, attestation in checked.items():
            print_result(f"{name}: {publisher_words(attestation)}")
    return ExitCode.DENIED if wrong else ExitCode.OK


def _plugins() -> list[str]:
    """Return the installed distributions that declare anything for this program."""
    return sorted(
        {
            distribution.name
            for distribution in distributions()
            if any(point.group.startswith("strands_cli.") for point in distribution.entry_points)
        }
    )
