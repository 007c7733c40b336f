"""The commands under `plugin`: `manifest` here, the others in separate modules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strands_cli.cli.commands import plugin_check, plugin_install, plugin_list, plugin_new, plugin_switch, plugin_verify
from strands_cli.cli.commands.help_group import App
from strands_cli.cli.output import print_result, say_findings
from strands_cli.errors import ExitCode, UsageError

plugin_app = App(
    name="plugin",
    help="Make, check, install and verify plugins.\n\nExample: strands plugin check packages/strands-tool-foo",
)


def register(program: typer.Typer) -> None:
    """Add these commands to the program."""
    plugin_new.register(plugin_app)
    plugin_app.command("manifest")(manifest)
    plugin_check.register(plugin_app)
    plugin_install.register(plugin_app)
    plugin_list.register(plugin_app)
    plugin_verify.register(plugin_app)
    plugin_switch.register(plugin_app)
    program.add_typer(plugin_app)


def manifest(
    directory: Annotated[Path, typer.Argument(help="The plugin's project directory.")] = Path(),
    write: Annotated[bool, typer.Option("--write", help="Write strands_tools.json into the package.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 3 if the committed manifest differs from the code.")
    ] = False,
) -> None:
    """Generate a plugin's manifest from its code; without an option, print it.

    A literal tool spec is read without an import; a computed one is imported, in a child process.

    Example: strands plugin manifest --check packages/strands-tool-foo
    """
    from strands_cli.plugins.check import check_manifests, make_manifests, read_project, render, write_manifests

    if write and check:
        raise UsageError("--write and --check cannot be combined", fix="check after writing, in a second command")
    project = read_project(directory)
    if write:
        print_result("\n".join(str(file) for file in write_manifests(project)))
    elif check:
        findings = check_manifests(project)
        say_findings(findings)
        if findings:
            raise typer.Exit(ExitCode.INVALID)
        print_result(f"{project.name}: the manifest matches the code")
    else:
        print_result("".join(render(document) for document in make_manifests(project).values()))
