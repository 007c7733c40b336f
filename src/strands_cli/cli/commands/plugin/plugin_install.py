"""The commands `plugin install` and `plugin upgrade` as pip has them, and `plugin uninstall`.

Where strands-cli-index is installed, its commands take the place of the first two: they show what a distribution would
bring before they change anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.commands.plugin.hook_consent import ENABLE
from strands_cli.cli.commands.plugin.plugin_installer import PluginInstaller
from strands_cli.cli.commands.running.execution import json_on_failure
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.default_parts import COMMANDS, OURS, install_of
from strands_cli.errors import ExitCode, UsageError, suggest
from strands_cli.texts.phrases import counted

YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
WHAT = Annotated[str, typer.Argument(metavar="NAME|FILE", help="NAME, NAME==1.2, a wheel, or a project folder.")]
_PREVIEW = OURS[COMMANDS]["plugin.install"]
# Options of its commands, which other commands pass in every environment.
_OTHERS = f"Comes with {_PREVIEW}."
INDEX = Annotated[list[str] | None, typer.Option("--index", help=_OTHERS, hidden=True)]
FORCE = Annotated[bool, typer.Option("--force", help=_OTHERS, hidden=True)]


def install(
    what: WHAT,
    index: INDEX = None,
    enable: ENABLE = None,
    yes: YES = False,
    force: FORCE = False,
    as_json: JSON = False,
) -> int:
    """Install a plugin into this environment with pip or uv, without a preview.

    Where strands-cli-index is installed, its tools and the permissions they ask for are shown first.

    Example: strands plugin install ./strands_tool_yours-1.0-py3-none-any.whl
    """
    if index:
        raise UsageError(f"--index comes with {_PREVIEW}", fix=install_of(_PREVIEW))
    return _carry_out(what, enable, yes=yes, as_json=as_json, is_upgrade=False)


def upgrade(what: WHAT, enable: ENABLE = None, yes: YES = False, as_json: JSON = False) -> int:
    """Upgrade an installed plugin with pip or uv, without a preview.

    Where strands-cli-index is installed, the changes of its tools and their permissions are shown first.

    Example: strands plugin upgrade strands-tool-yours
    """
    return _carry_out(what, enable, yes=yes, as_json=as_json, is_upgrade=True)


def _carry_out(what: str, enable: bool | None, *, yes: bool, as_json: bool, is_upgrade: bool) -> int:
    known: dict[str, Any] = {"distribution": what, "version": None, "installed": None, "changed": False}
    known |= {"hooks": [], "hooks_on": None}
    with json_on_failure(known if as_json else None):
        installer = PluginInstaller(what, yes=yes)
        line = _install(installer, known, is_upgrade=is_upgrade)
        installer.offer_hooks(known, enable)
    if as_json:
        print_json(known)
    else:
        print_result(line)
    installer.say_next_steps(known)
    return ExitCode.OK


def _install(installer: PluginInstaller, known: dict[str, Any], *, is_upgrade: bool) -> str:
    """Install a distribution, note in `known` what became of it, and return what was done."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.catalog.distributions.scan import scan_installed
    from strands_cli.plugins.installed.listing import list_plugins

    target, before = installer.target, set(scan_installed().records)
    if target.name is not None:
        known["installed"] = installer.version_of(target.name)
        if is_upgrade:
            installer.require_installed(target.name)
        elif not target.specifier and known["installed"]:
            known |= {"distribution": target.name, "version": known["installed"]}
            return f"{target.name} {known['installed']} is installed already (strands plugin upgrade {target.name})"
    installer.require_allowed(target.name or _name_in_file(target.path))
    say(f"there is no preview of what is installed; it comes with {_PREVIEW}: {install_of(_PREVIEW)}")
    installer.confirm(f"install {target.requirement} with {installer.program.kind}?")
    installer.program.install(*(["--upgrade"] if is_upgrade else []), target.requirement)
    now = discover_catalog()
    new = sorted(set(now.seen.records) - before)
    name = normalise(target.name or _name_in_file(target.path) or next(iter(new), target.requirement))
    plugin = next((plugin for plugin in list_plugins(now) if plugin.name == name), None)
    known |= {"distribution": name, "version": now.version_of(name), "changed": True}
    known["hooks"] = list(plugin.hooks) if plugin is not None else []
    return f"installed {name} {known['version'] or '?'}"


def _name_in_file(path: Path | None) -> str | None:
    """Return the name of the distribution that the name of a wheel or a source archive has; None for a folder."""
    return path.name.partition("-")[0] if path is not None and path.is_file() else None


def uninstall(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The distribution.", autocompletion=completions.distributions),
    ],
    yes: YES = False,
    as_json: JSON = False,
) -> int:
    """Uninstall a plugin, after listing the workflows of this folder that use its tools and parts.

    Example: strands plugin uninstall strands-tool-yours
    """
    known: dict[str, Any] = {"distribution": name, "version": None, "changed": False, "tools": 0, "used_by": []}
    with json_on_failure(known if as_json else None):
        _uninstall(name, known, yes=yes)
    if as_json:
        print_json(known)
    else:
        print_result(f"uninstalled {known['distribution']}")
    return ExitCode.OK


def _uninstall(name: str, known: dict[str, Any], *, yes: bool) -> None:
    """Uninstall a plugin, and note in `known` what is found out of it."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.config import load_settings
    from strands_cli.plugins.installed.listing import list_plugins
    from strands_cli.plugins.installed.usage import workflows_naming

    installer = PluginInstaller(name, yes=yes)
    target = installer.target
    if target.name is None or target.specifier or target.extras:
        raise UsageError(f"'{name}' is not the name of a distribution", fix="strands plugin list")
    catalog, plain = discover_catalog(), normalise(target.name)
    plugins = {plugin.name: plugin for plugin in list_plugins(catalog)}
    if plain not in plugins:
        problem = "is not a plugin; use pip" if plain in catalog.seen.records else "is not installed"
        raise UsageError(f"'{plain}' {problem}", fix=suggest(plain, plugins, "strands plugin list"))
    kind, found = installer.program.kind, plugins[plain]
    known |= {"distribution": plain, "version": found.version, "tools": found.tool_count}
    has = [counted(found.tool_count, "tool")] if found.tool_count or not found.parts else []
    say(f"{plain} {found.version or '?'}: {', '.join([*has, *dict.fromkeys(part.adds for part in found.parts)])}")
    for path, (tools, parts) in workflows_naming(plain, Path.cwd(), catalog, load_settings()).items():
        known["used_by"].append({"file": str(path), "tools": tools, "parts": parts})
        say(f"warning: {path.name} uses {', '.join([*tools, *parts])} and will not run without it")
    installer.confirm(f"uninstall {plain} with {kind}?")
    installer.program.uninstall(plain)
    known["changed"] = True
