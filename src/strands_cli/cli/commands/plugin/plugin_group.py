"""The commands under `plugin`: `manifest` here, the others in separate modules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.plugin.plugin_adopt import adopt, unadopt
from strands_cli.cli.commands.plugin.plugin_check import check as check_plugin
from strands_cli.cli.commands.plugin.plugin_install import install, uninstall, upgrade
from strands_cli.cli.commands.plugin.plugin_list import list_installed
from strands_cli.cli.commands.plugin.plugin_new import new
from strands_cli.cli.commands.plugin.plugin_switch import disable, enable
from strands_cli.cli.commands.plugin.plugin_verify import verify
from strands_cli.cli.commands.plugin_commands import OpenGroup
from strands_cli.cli.output.messages import say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import ExitCode, UsageError


def manifest(
    directory: Annotated[Path, typer.Argument(help="The plugin's project directory.")] = Path(),
    write: Annotated[bool, typer.Option("--write", help="Write strands_tools.json into the package.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 3 if the committed manifest differs from the code.")
    ] = False,
    as_json: JSON = False,
) -> None:
    """Generate a plugin's manifest from its code; without an option, print it.

    A literal tool spec is read without an import; a computed one is imported, in a child process.

    Example: strands plugin manifest --check packages/strands-tool-yours
    """
    from strands_cli.plugins.check.manifest_writer import check_manifests, make_manifests, render, write_manifests
    from strands_cli.plugins.check.project import read_project

    if write and check:
        raise UsageError("--write and --check cannot be combined", fix="check after writing, in a second command")
    project = read_project(directory)
    findings = check_manifests(project) if check else []
    made = make_manifests(project) if as_json or not (write or check) else {}
    written = [str(file) for file in write_manifests(project)] if write else []
    if as_json:
        found = [finding.as_dict() for finding in findings]
        manifests = {str(file): document for file, document in made.items()}
        print_json({"distribution": project.name, "manifests": manifests, "written": written, "findings": found})
    elif write:
        print_result("\n".join(written))
    elif check:
        say_findings(findings)
    else:
        print_result("".join(render(document) for document in made.values()))
    if findings:
        raise typer.Exit(ExitCode.INVALID)
    if check and not as_json:
        print_result(f"{project.name}: the manifest matches the code")


plugin_app = group(
    "Make, check, find, install and verify plugins.\n\nExample: strands plugin check packages/strands-tool-yours",
    {
        "new": new,
        "manifest": manifest,
        "check": check_plugin,
        "install": install,
        "upgrade": upgrade,
        "uninstall": uninstall,
        "adopt": adopt,
        "unadopt": unadopt,
        "list": list_installed,
        "verify": verify,
        "enable": enable,
        "disable": disable,
    },
    cls=OpenGroup,
)
