"""`PluginInstaller`: the shared parts of commands that install: pip or uv, the questions, the decisions of policy."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.commands.running.run_command import json_on_failure
from strands_cli.cli.output.messages import say, write_error
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.default_parts import COMMANDS, OURS, install_of
from strands_cli.errors import Denied, ExitCode, Interrupted, NotEquipped, UsageError, has_errors, suggest
from strands_cli.plugins.installer import parse_install_target
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.hooks.manager import Hooks
    from strands_cli.plugins.installer import Installer
    from strands_cli.plugins.switching import HookFiles, SwitchChange
    from strands_cli.plugins.unpacked_plugin import UnpackedPlugin
    from strands_cli.policy.decision import Decision, Policy
    from strands_cli.publishers import Publisher


# The question of `plugin install` and `upgrade` whether to switch on the hooks of the installed distribution.


ENABLE = Annotated[
    bool | None,
    typer.Option("--enable/--no-enable", help="Switch its hooks on, or not, without a question."),
]


def switch_on_hooks(document: dict[str, Any], enable: bool | None, *, yes: bool) -> None:
    """Switch on the hooks of a distribution, if the person says so, and note in `document` whether they are on.

    `--yes` does not say it: it agrees to an installation, and hooks run in every command.

    Args:
        document: The facts of an installation; `hooks_on` stays None where it has no hooks.
        enable: The person's answer, where it was given with the command.
        yes: Whether no question is asked.

    Raises:
        Denied: Policy denies the distribution, the managed file decides otherwise, or the hooks cannot be used.
        InvalidInput: It has no hooks, or the policy file cannot be edited.
    """
    if not enable and not (document["changed"] and document["hooks"]):
        return
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.config import read_settings
    from strands_cli.plugins.switching import enable_hooks, is_switched_on
    from strands_cli.plugins.unpacked_plugin import require_allowed
    from strands_cli.user_files.policy_files import read_policies

    name, files = normalise(document["distribution"]), hook_files()
    document["hooks_on"] = is_switched_on(name, files)
    if document["hooks_on"] or not _agrees(name, enable, yes=yes):
        return
    require_allowed(name, read_policies(read_settings(), Path.cwd()).rules)
    done = enable_hooks(name, files, discover_catalog(), may_allow=False)
    document["hooks_on"] = True
    say(f"the hooks of {done.name} are on, in {done.file} (off: strands plugin disable {done.name})")


def _agrees(name: str, enable: bool | None, *, yes: bool) -> bool:
    from strands_cli.cli.terminal.terminal_human import is_interactive

    if enable is not None or yes or not is_interactive():
        return bool(enable)
    return answers_yes(f"switch on the hooks of {name}, whose code then runs in every command of yours?")


def answers_yes(question: str) -> bool:
    """Ask on the terminal, and return whether the answer was yes."""
    write_error(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class PluginInstaller:
    """Installs one distribution into this environment for a person.

    Args:
        target_text: NAME, NAME==1.2, a wheel, an archive, or a project folder.
        yes: Whether no question is asked.

    Attributes:
        target: The distribution by its name, with `extras` and `specifier`, or by its `path`.

    Raises:
        UsageError: `target_text` is none of these.
    """

    def __init__(self, target_text: str, *, yes: bool = False) -> None:
        self.target = parse_install_target(target_text)
        self._yes = yes

    @cached_property
    def program(self) -> Installer:
        """The program that installs here, `kind` is `pip` or `uv`.

        Raises:
            NotEquipped: This is the system's Python, or there is neither pip nor uv.
        """
        from strands_cli.plugins.installer import find_installer

        return find_installer()

    @cached_property
    def _catalog(self) -> Catalog:
        from strands_cli.catalog.catalog import discover_catalog

        return discover_catalog()

    @cached_property
    def _policy(self) -> Policy:
        from strands_cli.config import read_settings
        from strands_cli.user_files.policy_files import read_policies

        return read_policies(read_settings(), Path.cwd())

    @cached_property
    def _hooks(self) -> Hooks:
        from strands_cli.hooks.hook_plugins import open_hooks

        hooks = open_hooks(self._policy.hooks)
        if has_errors(hooks.findings):
            raise Denied("nothing is installed while a hook plugin is missing or broken", findings=hooks.findings)
        return hooks

    def version_of(self, name: str) -> str | None:
        """Return the version of a distribution that was installed before; None if it was not."""
        return self._catalog.version_of(name)

    def require_installed(self, name: str) -> None:
        """Check that a distribution is installed.

        Raises:
            UsageError: It is not; with the closest name.
        """
        if self.version_of(name) is None:
            installed_names = sorted({record.distribution for record in self._catalog.tools})
            raise UsageError(
                f"'{name}' is not installed", fix=suggest(name, installed_names, f"strands plugin install {name}")
            )

    def is_intact(self, name: str) -> bool:
        """Return whether no file of an installed distribution is changed, missing or added."""
        from strands_cli.plugins.verify import verify_distribution

        return verify_distribution(name, self._catalog).ok

    def kept_publisher(self, name: str) -> Publisher | None:
        """Return who published an installed distribution, as was verified on this machine; None is unknown."""
        from strands_cli.catalog.publisher_records import publisher_of

        return publisher_of(name, self._catalog.scan)

    def require_allowed(self, name: str | None) -> None:
        """Check that no rule denies a distribution with all its tools; None only checks the policy itself.

        Raises:
            Denied: One does, a policy file is wrong, or a hook plugin is missing or broken.
        """
        from strands_cli.catalog.distributions.entry_points import normalise
        from strands_cli.plugins.unpacked_plugin import require_allowed

        _ = self._hooks
        if name is not None:
            require_allowed(normalise(name), self._policy.rules)

    def decide(
        self, record: ToolRecord, plugin: UnpackedPlugin, sources: Iterable[str], publisher: str | None
    ) -> Decision:
        """Return the decision of policy on a tool of an absent distribution.

        Args:
            sources: The words of rules for where it comes from: `index`, `archive`, `adopted`.
            publisher: Its verified publisher, in the words of a rule; None is unknown.
        """
        from strands_cli.plugins.unpacked_plugin import decision_on

        return decision_on(record, plugin, self._policy.rules, self._hooks, sources, publisher)

    def require_one_allowed(self, name: str, decisions: Iterable[Decision]) -> None:
        """Check that policy does not deny each tool of a distribution.

        Raises:
            Denied: It does.
        """
        from strands_cli.plugins.unpacked_plugin import require_one_allowed

        require_one_allowed(name, decisions)

    def may_build(self, reason: str) -> bool:
        """Return whether a wheel may be built, which runs code that the person has not seen."""
        from strands_cli.cli.terminal.terminal_human import is_interactive

        if not self._yes and is_interactive():
            say(reason)
            return answers_yes("build it, which runs its author's code?")
        return self._yes

    def confirm(self, question: str) -> None:
        """Ask for confirmation, unless no question is asked.

        Raises:
            UsageError: There is no terminal to ask on.
            Interrupted: The answer is not yes.
        """
        from strands_cli.cli.terminal.terminal_human import is_interactive

        if self._yes:
            return
        if not is_interactive():
            raise UsageError(
                "there is no terminal to ask on, so nothing was changed", fix="review what is shown, then pass --yes"
            )
        if not answers_yes(question):
            raise Interrupted("nothing was changed")

    def offer_hooks(self, document: dict[str, Any], enable: bool | None) -> None:
        """Switch on the hooks of the installed distribution, if the person agrees, and note it in `document`.

        Args:
            document: Has `distribution`, `changed` and `hooks`, and gets `hooks_on`.
            enable: The person's answer, where it was given with the command.
        """
        switch_on_hooks(document, enable, yes=self._yes)

    def say_next_steps(self, document: dict[str, Any]) -> None:
        """Tell the next steps after an installation with changes."""
        from strands_cli.plugins.installer import owned_by_a_program

        name = document["distribution"]
        if not document["changed"]:
            return
        if Path("strands.lock").exists():
            say(f"there is a lock: review the change (strands lock --diff), then: strands lock --update {name}")
        if document["hooks_on"] is False:
            say(f"its hooks are off; they are switched on by: strands plugin enable {name}")
        if program := owned_by_a_program():
            say(f"warning: {program} made this environment for strands-cli alone; its next upgrade leaves {name} out")


# The commands `plugin install` and `plugin upgrade` as pip has them, and `plugin uninstall`.
#
# Where strands-cli-index is installed, its commands take the place of the first two: they show the contents before they
# change anything.


YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
WHAT = Annotated[str, typer.Argument(metavar="NAME|FILE", help="NAME, NAME==1.2, a wheel, or a project folder.")]
_PREVIEW = OURS[COMMANDS]["plugin.install"]
# Options of its commands, which other commands pass in every environment.
_OTHERS = f"Comes with {_PREVIEW}."
INDEX = Annotated[list[str] | None, typer.Option("--index", help=_OTHERS, hidden=True)]
FORCE = Annotated[bool, typer.Option("--force", help=_OTHERS, hidden=True)]


def install(
    target: WHAT,
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
        raise NotEquipped(f"--index comes with {_PREVIEW}", fix=install_of(_PREVIEW))
    return _carry_out(target, enable, yes=yes, as_json=as_json, is_upgrade=False)


def upgrade(target: WHAT, enable: ENABLE = None, yes: YES = False, as_json: JSON = False) -> int:
    """Upgrade an installed plugin with pip or uv, without a preview.

    Where strands-cli-index is installed, the changes of its tools and their permissions are shown first.

    Example: strands plugin upgrade strands-tool-yours
    """
    return _carry_out(target, enable, yes=yes, as_json=as_json, is_upgrade=True)


def _carry_out(target: str, enable: bool | None, *, yes: bool, as_json: bool, is_upgrade: bool) -> int:
    document: dict[str, Any] = {"distribution": target, "version": None, "installed": None, "changed": False}
    document |= {"hooks": [], "hooks_on": None}
    with json_on_failure(document if as_json else None):
        installer = PluginInstaller(target, yes=yes)
        line = _install(installer, document, is_upgrade=is_upgrade)
        installer.offer_hooks(document, enable)
    if as_json:
        print_json(document)
    else:
        print_result(line)
    installer.say_next_steps(document)
    return ExitCode.OK


def _install(installer: PluginInstaller, document: dict[str, Any], *, is_upgrade: bool) -> str:
    """Install a distribution, note the result in `document`, and return the action in words."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.catalog.distributions.scan import scan_installed
    from strands_cli.plugins.verify import list_plugins

    target, before = installer.target, set(scan_installed().records)
    if target.name is not None:
        document["installed"] = installer.version_of(target.name)
        if is_upgrade:
            installer.require_installed(target.name)
        elif not target.specifier and document["installed"]:
            document |= {"distribution": target.name, "version": document["installed"]}
            return f"{target.name} {document['installed']} is installed already (strands plugin upgrade {target.name})"
    installer.require_allowed(target.name or _name_in_file(target.path))
    say(f"there is no preview of what is installed; it comes with {_PREVIEW}: {install_of(_PREVIEW)}")
    installer.confirm(f"install {target.requirement} with {installer.program.kind}?")
    installer.program.install(*(["--upgrade"] if is_upgrade else []), target.requirement)
    now = discover_catalog()
    new = sorted(set(now.scan.records) - before)
    name = normalise(target.name or _name_in_file(target.path) or next(iter(new), target.requirement))
    plugin = next((plugin for plugin in list_plugins(now) if plugin.name == name), None)
    document |= {"distribution": name, "version": now.version_of(name), "changed": True}
    document["hooks"] = list(plugin.hooks) if plugin is not None else []
    return f"installed {name} {document['version'] or '?'}"


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
    document: dict[str, Any] = {"distribution": name, "version": None, "changed": False, "tools": 0, "used_by": []}
    with json_on_failure(document if as_json else None):
        _uninstall(name, document, yes=yes)
    if as_json:
        print_json(document)
    else:
        print_result(f"uninstalled {document['distribution']}")
    return ExitCode.OK


def _uninstall(name: str, document: dict[str, Any], *, yes: bool) -> None:
    """Uninstall a plugin, and note the result in `document`."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.config import read_settings
    from strands_cli.plugins.switching import workflows_naming
    from strands_cli.plugins.verify import list_plugins

    installer = PluginInstaller(name, yes=yes)
    target = installer.target
    if target.name is None or target.specifier or target.extras:
        raise UsageError(f"'{name}' is not the name of a distribution", fix="strands plugin list")
    catalog, plain = discover_catalog(), normalise(target.name)
    plugins = {plugin.name: plugin for plugin in list_plugins(catalog)}
    if plain not in plugins:
        problem = "is not a plugin; use pip" if plain in catalog.scan.records else "is not installed"
        raise UsageError(f"'{plain}' {problem}", fix=suggest(plain, plugins, "strands plugin list"))
    kind, entry = installer.program.kind, plugins[plain]
    document |= {"distribution": plain, "version": entry.version, "tools": entry.tool_count}
    has = [counted(entry.tool_count, "tool")] if entry.tool_count or not entry.parts else []
    say(f"{plain} {entry.version or '?'}: {', '.join([*has, *dict.fromkeys(part.adds for part in entry.parts)])}")
    for path, (tools, parts) in workflows_naming(plain, Path.cwd(), catalog, read_settings()).items():
        document["used_by"].append({"file": str(path), "tools": tools, "parts": parts})
        say(f"warning: {path.name} uses {', '.join([*tools, *parts])} and will not run without it")
    installer.confirm(f"uninstall {plain} with {kind}?")
    installer.program.uninstall(plain)
    document["changed"] = True


# The commands `plugin enable` and `plugin disable`: hook plugins in the user's own policy file.


Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The distribution of the hooks.", autocompletion=completions.distributions),
]


def enable(
    name: Name,
    may: Annotated[
        Literal["allow"] | None,
        typer.Option(help="What it may do beside restricting: `allow`, where only a tool itself asks."),
    ] = None,
    required: Annotated[
        bool | None,
        typer.Option("--required/--not-required", help="Let nothing run in environments where it is not installed."),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Switch on the hooks of an installed distribution, in your own policy file.

    Example: strands plugin enable strands-hooks-yours
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.switching import enable_hooks

    may_allow, catalog = may == "allow", discover_catalog()
    _report(enable_hooks(name, hook_files(), catalog, may_allow=may_allow, required=required), as_json=as_json)


def disable(name: Name, as_json: JSON = False) -> None:
    """Switch off the hooks of a distribution, in your own policy file.

    Example: strands plugin disable strands-hooks-yours
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.switching import disable_hooks, require_known

    files = hook_files()
    require_known(name, files, discover_catalog())
    _report(disable_hooks(name, files), as_json=as_json)


def hook_files() -> HookFiles:
    """Return the hooks that policy files switch on, and which of the files is the user's own.

    Raises:
        UsageError: There is no home for a file of the user.
    """
    from strands_cli.config import read_settings
    from strands_cli.plugins.switching import HookFiles
    from strands_cli.user_files.policy_files import read_policies

    settings = read_settings()
    if settings.user_policy is None:
        raise UsageError("there is no home directory for your policy file", fix="set HOME or XDG_CONFIG_HOME")
    managed = read_policies(replace(settings, user_policy=None), None)
    return HookFiles(managed, read_policies(replace(settings, managed_policy=None), None), settings.user_policy)


def _report(done: SwitchChange, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": done.name, "before": done.before, "after": done.after, "file": str(done.file)})
    elif done.before == done.after:
        print_result(f"{done.name}: {done.after} already, in {done.file}")
    else:
        print_result(f"{done.name}: {done.after} (was: {done.before}), in {done.file}")
