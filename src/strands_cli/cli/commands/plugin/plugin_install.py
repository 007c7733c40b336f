"""The commands `plugin install`, `upgrade` and `uninstall`: they show the changes before they make them."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import INDEX, JSON
from strands_cli.cli.commands.plugin.hook_consent import ENABLE, answers_yes, switch_on_hooks
from strands_cli.cli.commands.plugin.publisher_lines import keep_installed, publisher_lines, publisher_of_fetched
from strands_cli.cli.commands.running.execution import json_on_failure
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import (
    Code,
    Denied,
    ExitCode,
    Finding,
    Interrupted,
    InvalidInput,
    UsageError,
    has_errors,
    suggest,
)
from strands_cli.plugins.install.collisions import PLUGIN_REPLACES
from strands_cli.texts.phrases import counted, joined
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.plugins.install.installer import Installer
    from strands_cli.plugins.install.preview import Proposal
    from strands_cli.plugins.install.requirement import InstallTarget

PLUGIN_EMPTY = Code(
    "plugin-empty",
    "A distribution provides neither tools nor hooks nor workflows.",
    "Correct the name; install a library with pip.",
)

YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
FORCE = Annotated[bool, typer.Option("--force", help="Accept a distribution without tools and hooks.")]
WHAT = Annotated[str, typer.Argument(metavar="NAME|FILE", help="NAME, NAME==1.2, a wheel, or a project folder.")]
OURS = "strands-cli"
_DESCRIPTION = 100


class Chosen(NamedTuple):
    """The options of an installation: indexes to look in, the answers to its questions, and what is accepted."""

    indexes: Sequence[str]
    enable: bool | None
    yes: bool
    force: bool


def install(
    what: WHAT,
    index: INDEX = None,
    enable: ENABLE = None,
    yes: YES = False,
    force: FORCE = False,
    as_json: JSON = False,
) -> int:
    """Install a plugin into this environment, after showing its tools and the permissions they ask for.

    It is downloaded and read without an import; exactly the files that were shown, by their hash, are installed.

    Example: strands plugin install ./strands_tool_yours-1.0-py3-none-any.whl
    """
    return _carry_out(what, Chosen(index or (), enable, yes, force), is_upgrade=False, as_json=as_json)


def upgrade(
    what: WHAT,
    index: INDEX = None,
    enable: ENABLE = None,
    yes: YES = False,
    force: FORCE = False,
    as_json: JSON = False,
) -> int:
    """Upgrade an installed plugin, after showing how its tools and their permissions change.

    Example: strands plugin upgrade strands-tool-yours
    """
    return _carry_out(what, Chosen(index or (), enable, yes, force), is_upgrade=True, as_json=as_json)


def _carry_out(what: str, chosen: Chosen, *, is_upgrade: bool, as_json: bool) -> int:
    """Install or upgrade, and print the result; what was found out is part of the JSON of a failure too."""
    from strands_cli.plugins.install.requirement import parse_install_target

    lists = (
        "tools",
        "hooks",
        "parts",
        "packaged",
        "programs",
        "start_files",
        "entry_points",
        "elsewhere",
        "requires",
        "changes",
        "findings",
    )
    known: dict[str, Any] = {"distribution": what, "version": None, "installed": None, "changed": False}
    known |= {"publisher": None, "index": None}
    known |= {name: [] for name in lists} | {"hooks_on": None}
    with json_on_failure(known if as_json else None):
        target = parse_install_target(what)
        line = _install(target, chosen, known, is_upgrade=is_upgrade)
        switch_on_hooks(known, chosen.enable, yes=chosen.yes)
    if as_json:
        print_json(known)
    else:
        print_result(line)
    if known["changed"]:
        _print_next_steps(known["distribution"], hooks_are_off=known["hooks_on"] is False)
    return ExitCode.OK


def _install(target: InstallTarget, chosen: Chosen, known: dict[str, Any], *, is_upgrade: bool) -> str:
    """Install a distribution, note in `known` what is found out of it, and return what was done."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.config import load_settings
    from strands_cli.hooks.hook_plugins import open_hooks
    from strands_cli.plugins.install.download import install_fetched, require_same
    from strands_cli.plugins.install.from_index import fetch_target, release_for
    from strands_cli.plugins.install.installer import find_installer
    from strands_cli.plugins.install.preview import propose, require_allowed
    from strands_cli.user_files.policy_files import load_policy

    settings, catalog = load_settings(), discover_catalog()
    if target.name is not None:
        if is_upgrade:
            _require_installed(target.name, catalog)
        elif not target.specifier and (version := catalog.version_of(target.name)):
            known |= {"distribution": target.name, "version": version, "installed": version}
            return f"{target.name} {version} is installed already (strands plugin upgrade {target.name})"
    policy = load_policy(settings, Path.cwd())
    hooks = open_hooks(policy.hooks)
    if has_errors(hooks.findings):
        raise Denied("nothing is installed while a hook plugin is missing or broken", findings=hooks.findings)
    if target.name is not None:
        require_allowed(normalise(target.name), policy.rules)
    installer = find_installer()
    release = release_for(target, chosen.indexes, settings.user_config)
    with tempfile.TemporaryDirectory(prefix="strands-") as folder:
        if release is not None:
            known["index"] = str(release.place)
            say(release.found)
        fetched = fetch_target(
            target, release, installer, Path(folder), lambda reason: _may_build(reason, yes=chosen.yes)
        )
        known |= {"distribution": fetched.name, "version": fetched.version}
        if target.name is None:
            require_allowed(fetched.name, policy.rules)
        if is_upgrade:
            _require_installed(fetched.name, catalog)
        if fetched.is_indexed and fetched.version == catalog.version_of(fetched.name):
            known["installed"] = fetched.version
            return f"{fetched.name} {fetched.version} is installed already"
        attested = publisher_of_fetched(fetched, installer, known)
        publisher = attested.publisher.word if attested.publisher is not None else None
        proposal = propose(fetched, catalog, policy.rules, hooks, publisher)
        known |= _proposed(proposal)
        for line in (*_proposal_lines(proposal), *publisher_lines(fetched.name, attested, catalog)):
            say(line)
        _require_fit(proposal, chosen)
        _confirm(f"install {fetched.name} {fetched.version} with {installer.kind}?", yes=chosen.yes)
        install_fetched(fetched, installer, Path(folder), lacks=bool(proposal.requires))
        known["changed"] = True
        require_same(fetched, installer)
        keep_installed(fetched, attested)
    return f"installed {fetched.name} {fetched.version}"


def _proposed(proposal: Proposal) -> dict[str, Any]:
    """Return what a proposal adds to the JSON of an installation."""
    from strands_cli.planning.sentences.permission_phrases import describe_permissions

    tools = [
        {
            "name": tool.record.ref_name,
            "description": tool.record.description,
            "permissions": describe_permissions(tool.record),
            "requires": dict(tool.record.requires or {}),
            "effect": tool.decision.effect,
            "rule": tool.decision.rule,
        }
        for tool in proposal.tools
    ]
    names = ("hooks", "parts", "packaged", "programs", "start_files", "entry_points", "requires")
    return {
        "installed": proposal.installed,
        "tools": tools,
        **{name: list(getattr(proposal, name)) for name in names},
        "elsewhere": list(proposal.fetched.elsewhere),
        "changes": [change.message for change in proposal.changes],
        "findings": [finding.as_dict() for finding in proposal.findings],
    }


def _require_fit(proposal: Proposal, chosen: Chosen) -> None:
    from strands_cli.plugins.install.preview import require_one_allowed

    name = proposal.fetched.name
    if name == OURS:
        raise UsageError("strands-cli is not a plugin", fix="pip install --upgrade strands-cli")
    if proposal.refused:
        raise InvalidInput(
            f"'{name}' is not installed", findings=[one for one in proposal.findings if one.code == PLUGIN_REPLACES]
        )
    require_one_allowed(proposal)
    if not (proposal.tools or proposal.hooks or proposal.parts or proposal.packaged or chosen.force):
        message = f"'{name}' provides neither tools nor hooks nor workflows"
        finding = Finding(PLUGIN_EMPTY, message, None, _way_without_entry_points(proposal, chosen.indexes))
        raise InvalidInput(message, findings=[finding])


def _way_without_entry_points(proposal: Proposal, indexes: Sequence[str]) -> str:
    """Return how to use a distribution that declares nothing: adopt its tools, if it has any, else as a library."""
    from strands_cli.plugins.install.plain_tools import find_plain_tools

    fetched = proposal.fetched
    if not find_plain_tools(fetched.tree):
        return f"pip install {fetched.name}, or pass --force"
    if fetched.is_indexed:
        options = "".join(f" --index {shlex.quote(index)}" for index in indexes)
        return f"strands plugin adopt {fetched.name} --install{options}"
    return f"install it with --force, then: strands plugin adopt {fetched.name}"


def _require_installed(name: str, catalog: Catalog) -> None:
    if catalog.version_of(name) is None:
        known = sorted({record.distribution for record in catalog.tools})
        fix = suggest(name, known, f"strands plugin install {name}")
        raise UsageError(f"'{name}' is not installed", fix=fix)


def _proposal_lines(proposal: Proposal) -> Iterator[str]:
    """Yield the lines that describe a proposal; foreign text is one line each, so that it cannot look like ours."""
    from strands_cli.planning.sentences.permission_phrases import describe_permissions

    fetched = proposal.fetched
    before = f" (installed: {proposal.installed})" if proposal.installed else ""
    yield f"{fetched.name} {fetched.version}{before}: {_line(proposal.summary)}"
    for tool in proposal.tools:
        yield f"  tool {tool.record.ref_name}: {_line(tool.record.description or 'known after load')}"
        yield f"    {_line(describe_permissions(tool.record), 300)}"
        if tool.record.requires:
            needs = "; ".join(f"{name} {joined(value)}" for name, value in tool.record.requires.items())
            yield f"    requires {_line(needs, 300)}"
        if tool.decision.effect == "deny":
            yield f"    denied: {tool.decision.rule}"
    yield from (f"  hook plugin {name}: off until a policy file switches it on" for name in proposal.hooks)
    yield from (f"  {_line(part)}" for part in proposal.parts)
    yield from (f"  {_line(name)}: data, which allows itself nothing" for name in proposal.packaged)
    for name in proposal.programs:
        hidden = proposal.hidden.get(name)
        more = f": hides {hidden} where this environment is first on PATH" if hidden else ""
        yield f"  program {_line(name)}{more}"
    yield from (f"  {_line(name)}: Python may run its code at every start" for name in proposal.start_files)
    for point in proposal.entry_points:
        yield f"  entry point {_line(point)}: other programs may load its code by themselves"
    yield from (f"  file {_line(path, 300)}: outside of its packages" for path in fetched.elsewhere)
    yield from (f"  also installs {_line(text)}" for text in proposal.requires)
    if proposal.installed:
        yield from (f"  changes: {change.message}" for change in proposal.changes)
        if not proposal.changes and proposal.tools:
            yield "  changes: the tools are described as before"
    yield from (
        f"  {line}"
        for finding in proposal.findings
        if finding.code != PLUGIN_REPLACES
        for line in str(finding).splitlines()
    )


def _line(text: str, width: int = _DESCRIPTION) -> str:
    plain = printable(" ".join(text.split()))
    return plain if len(plain) <= width else plain[: width - 1] + "…"


def _may_build(reason: str, *, yes: bool) -> bool:
    """Return whether a wheel may be built, which runs code that has not been shown."""
    from strands_cli.cli.terminal.terminal_human import is_interactive

    if not yes and is_interactive():
        say(reason)
        return answers_yes("build it, which runs its author's code?")
    return yes


def _confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation, unless `yes`."""
    from strands_cli.cli.terminal.terminal_human import is_interactive

    if yes:
        return
    if not is_interactive():
        raise UsageError(
            "there is no terminal to ask on, so nothing was changed", fix="review what is shown, then pass --yes"
        )
    if not answers_yes(question):
        raise Interrupted("nothing was changed")


def _print_next_steps(name: str, *, hooks_are_off: bool) -> None:
    from strands_cli.plugins.install.installer import owned_by_a_program

    if Path("strands.lock").exists():
        say(f"there is a lock: review the change (strands lock --diff), then: strands lock --update {name}")
    if hooks_are_off:
        say(f"its hooks are off; they are switched on by: strands plugin enable {name}")
    if program := owned_by_a_program():
        say(f"warning: {program} made this environment for strands-cli alone; its next upgrade leaves {name} out")


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
    from strands_cli.plugins.install.installer import find_installer
    from strands_cli.plugins.install.requirement import parse_install_target
    from strands_cli.plugins.installed.listing import list_plugins
    from strands_cli.plugins.installed.usage import workflows_naming

    target = parse_install_target(name)
    if target.name is None or target.specifier or target.extras:
        raise UsageError(f"'{name}' is not the name of a distribution", fix="strands plugin list")
    catalog, plain = discover_catalog(), normalise(target.name)
    plugins = {plugin.name: plugin for plugin in list_plugins(catalog)}
    if plain not in plugins:
        problem = "is not a plugin; use pip" if plain in catalog.seen.records else "is not installed"
        raise UsageError(f"'{plain}' {problem}", fix=suggest(plain, plugins, "strands plugin list"))
    installer: Installer = find_installer()
    found = plugins[plain]
    known |= {"distribution": plain, "version": found.version, "tools": found.tool_count}
    has = [counted(found.tool_count, "tool")] if found.tool_count or not found.parts else []
    say(f"{plain} {found.version or '?'}: {', '.join([*has, *dict.fromkeys(part.adds for part in found.parts)])}")
    for path, (tools, parts) in workflows_naming(plain, Path.cwd(), catalog, load_settings()).items():
        known["used_by"].append({"file": str(path), "tools": tools, "parts": parts})
        say(f"warning: {path.name} uses {', '.join([*tools, *parts])} and will not run without it")
    _confirm(f"uninstall {plain} with {installer.kind}?", yes=yes)
    installer.uninstall(plain)
    known["changed"] = True
