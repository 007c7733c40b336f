"""The commands `plugin adopt` and `plugin unadopt`: tools of distributions that declare none."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import INDEX, JSON, with_run_options
from strands_cli.cli.commands.plugin.adopt_lines import as_json_object, candidate_lines, heading, left_out_lines
from strands_cli.cli.commands.running.execution import json_on_failure
from strands_cli.cli.output.messages import say, say_findings, write_error
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import (
    Code,
    Denied,
    ExitCode,
    Finding,
    Interrupted,
    InvalidInput,
    NotEquipped,
    UsageError,
    has_errors,
    suggest,
)
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.phrases import counted, first_of

if TYPE_CHECKING:
    from strands_cli.catalog.adopted.adopted_file import AdoptedTool
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.plugins.adopt.candidates import Candidate, Survey

NOTHING_TO_ADOPT = Code(
    "nothing-to-adopt",
    "A distribution has no tools that can be adopted, declares them itself, or is not installed.",
    "Correct the name, or use what the message names.",
)
ADOPTION_DENIED = Code(
    "adoption-denied",
    "Policy denies a tool that is to be adopted.",
    "Have the rule changed, or leave the tool out: strands plugin adopt DIST --tool OTHER",
    21,
)

MOST_SHOWN = 8
MOST_LISTED = 20

PROJECT = Annotated[bool, typer.Option("--project", help="The file of this folder, beside its workflows.")]


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """What to adopt, and how."""

    install: Annotated[bool, typer.Option("--install", help="Install it first, if it is not installed.")] = False
    index: INDEX = None
    tools: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="NAME[=ALIAS]", help="Adopt this tool, under this name; may be repeated."),
    ] = None
    take_all: Annotated[bool, typer.Option("--all", help="Adopt every tool that can be adopted.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take all, or those adopted before.")] = False
    load: Annotated[
        bool, typer.Option("--import", help="Import what the source does not show, in a limited child process.")
    ] = False
    project: PROJECT = False
    patch: Annotated[
        Path | None, typer.Option("--patch", metavar="DIR", help="Only write a patch for its authors into DIR.")
    ] = None
    as_json: JSON = False

    @property
    def is_chosen(self) -> bool:
        """Whether the command line says which tools to take."""
        return self.take_all or self.yes or bool(self.tools) or self.patch is not None


@with_run_options()
def adopt(
    distribution: Annotated[str, typer.Argument(metavar="DIST", help="An installed distribution.")],
    chosen_by: AdoptOptions,
) -> int:
    """Make the tools of a distribution that declares none usable as native:NAME.

    Its source is read without an import. What is adopted is written into strands-adopted.json with the digests of its
    modules; a tool without declared safety asks before each call.

    Example: strands plugin adopt strands-hubspot --tool hubspot
    """
    known: dict[str, Any] = {"distribution": distribution, "version": None, "file": None, "imported": False}
    known |= {"adopted": [], "left_out": [], "tools": [], "patch": None, "findings": []}
    with json_on_failure(known if chosen_by.as_json else None):
        if chosen_by.take_all and chosen_by.tools:
            raise UsageError("--all and --tool cannot be combined", fix="pass one of them")
        line = _adopt(distribution, chosen_by, known)
    if chosen_by.as_json:
        print_json(known)
    else:
        print_result(line)
    return ExitCode.OK


def _adopt(named: str, options: AdoptOptions, known: dict[str, Any]) -> str:
    """Adopt, note in `known` what is found out of it, and return what was done."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.adopt.adoption import adopt as write_adoption
    from strands_cli.plugins.adopt.adoption import read_for_change
    from strands_cli.plugins.adopt.adoption_policy import names_of_others
    from strands_cli.plugins.adopt.candidates import Imports, survey
    from strands_cli.plugins.adopt.choice import Choice, choose
    from strands_cli.plugins.adopt.upstream_patch import write_patch

    path, tools = adoption_file(project=options.project), options.tools or []
    distribution, catalog = _installed(named, discover_catalog(), options)
    adopted = read_for_change(path)
    words = [Choice.parse(text).named for text in tools]
    found = survey(distribution, catalog, adopted, imports=Imports() if options.load else None, named=words, tell=say)
    known |= {"distribution": distribution, "version": found.found.version, "file": str(path)}
    _require_tools(found)
    denied = _denied(found, catalog)
    known["tools"] = [as_json_object(one, denied) for one in found.candidates]
    known["findings"] = [finding.as_dict() for finding in found.findings]
    for line in (*heading(found), *candidate_lines(found, denied, tools)):
        say(line)
    say_findings(found.findings)
    before = adopted.distributions.get(distribution)
    texts = tools or _proposed(found, before.tools.values() if before else (), options, denied)
    texts = texts if options.is_chosen else _asked(found, texts, denied)
    kept = {name: tool.entry for name, tool in before.tools.items()} if before and tools else {}
    chosen = choose(found, texts, names_of_others(distribution, catalog, adopted), kept)
    _require_allowed(found, chosen, denied)
    if options.patch is not None:
        known["patch"] = written = str(write_patch(found, chosen, options.patch))
        return written
    done = write_adoption(path, distribution, chosen, catalog.seen, adds=bool(tools))
    known["adopted"] = sorted(one.name for one in chosen)
    known["left_out"] = [as_json_object(one, denied) for one in found.candidates if one not in chosen]
    known["imported"] = any(one.imported for one in chosen)
    if gone := sorted(set(done.before) - set(done.names)):
        say(f"no longer adopted: {', '.join(gone)}")
    for line in left_out_lines(found, chosen, denied):
        say(line)
    count = f"{len(chosen)} of {counted(len(found.candidates), 'tool')}"
    return f"adopted {count} of {distribution} {found.found.version or '?'} in {path}: {_refs(known['adopted'])}"


def _refs(names: Sequence[str]) -> str:
    shown = [f"native:{name}" for name in names]
    return first_of(shown, MOST_SHOWN)


def adoption_file(*, project: bool) -> Path:
    """Return the path of the adoption file: the user's, or the one of the current folder.

    Raises:
        NotEquipped: There is no home directory.
    """
    from strands_cli.catalog.adopted.adopted_file import adopted_path
    from strands_cli.config import ADOPTED_FILE, load_settings

    if project:
        return Path.cwd() / ADOPTED_FILE
    path = adopted_path(load_settings())
    if path is None:
        raise NotEquipped("there is no home directory for strands-adopted.json", fix="pass --project, or set HOME")
    return path


def _installed(named: str, catalog: Catalog, options: AdoptOptions) -> tuple[str, Catalog]:
    """Return the normalised name of an installed distribution that declares no tools, installing it if that is wanted.

    Raises:
        InvalidInput: It is not installed, or declares tools.
    """
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.catalog.distributions.entry_points import normalise
    from strands_cli.plugins.install.requirement import parse_install_target

    target = parse_install_target(named)
    name = normalise(target.name) if target.name else ""
    if not name or name not in catalog.seen.records:
        if not options.install:
            raise _not_installed(name or named, catalog)
        _install(named, options.index, yes=options.yes)
        before, catalog = set(catalog.seen.records), discover_catalog()
        name = name or next(iter(sorted(set(catalog.seen.records) - before)), named)
    own = [one for one in catalog.seen.distributions if one.name == name]
    if own:
        names = ", ".join(f"native:{point.name}" for point in own[0].entry_points[:5])
        message = f"'{name}' declares its tools itself; there is nothing to adopt"
        raise InvalidInput(
            message, findings=[Finding(NOTHING_TO_ADOPT, message, None, f"use them as they are: {names}")]
        )
    return name, catalog


def _install(named: str, indexes: list[str] | None, *, yes: bool) -> None:
    from strands_cli.cli.commands.plugin.plugin_install import install_by_words

    with contextlib.redirect_stdout(sys.stderr):
        install_by_words(named, indexes, yes=yes)


def _not_installed(name: str, catalog: Catalog) -> InvalidInput:
    from strands_cli.catalog.adoptable.owner_search import adoptable_distributions
    from strands_cli.catalog.remedies import install_distribution

    message = f"the distribution '{name}' is not installed"
    fix = suggest(name, adoptable_distributions(catalog.seen), install_distribution(name))
    return InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])


def _require_tools(found: Survey) -> None:
    if not found.candidates:
        from strands_cli.catalog.adoptable.adoptable_tools import TOO_MUCH_TO_ADOPT
        from strands_cli.catalog.adoptable.tool_makers import makers_of_tools

        distribution, fix = found.found.distribution, "see what is installed: strands plugin list"
        message = f"'{distribution}' has no Strands tools in its source"
        if not found.found.files:
            message = f"'{distribution}' has no RECORD that lists a module"
            fix = f"install it from a wheel, as pip does: pip install --force-reinstall {distribution}"
        elif any(one.code == TOO_MUCH_TO_ADOPT for one in found.findings):
            message += ", as far as it was read"
        if makers := makers_of_tools(found.found.files):
            message = f"'{distribution}' makes its tools when its code is called, by {first_of(makers, 5)}"
            fix = f"write a small plugin that calls it: strands plugin new {distribution}-tools"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix), *found.findings])


def _denied(found: Survey, catalog: Catalog) -> dict[str, str]:
    """Return the rule that denies a tool, by the tool's entry."""
    from strands_cli.config import load_settings
    from strands_cli.hooks.hook_plugins import open_hooks
    from strands_cli.plugins.adopt.adoption_policy import denying_rules
    from strands_cli.user_files.policy_files import load_policy

    policy = load_policy(load_settings(), Path.cwd())
    hooks = open_hooks(policy.hooks)
    if has_errors(hooks.findings):
        raise Denied("nothing is adopted while a hook plugin is missing or broken", findings=hooks.findings)
    return denying_rules(found, catalog, policy.rules, hooks)


def _proposed(found: Survey, before: Iterable[AdoptedTool], options: AdoptOptions, denied: dict[str, str]) -> list[str]:
    """Return the entries that are proposed: those adopted before, else all.

    Raises:
        InvalidInput: One was adopted by importing it, which is not done again without `--import`.
    """
    again = {tool.entry for tool in before}
    entries = [one.entry for one in _offered(found, denied) if not one.is_private or one.entry in again]
    hidden = [one for one in found.candidates if one.entry in again and "--import" in (one.problem or "")]
    if hidden and not options.take_all and options.patch is None:
        message = f"'{hidden[0].name}' was adopted by importing it, and its source does not show it"
        fix = f"strands plugin adopt {found.found.distribution} --import"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])
    kept = [entry for entry in entries if entry in again]
    return entries if options.take_all or options.patch is not None or not kept else kept


def _offered(found: Survey, denied: dict[str, str]) -> list[Candidate]:
    return [one for one in found.adoptable if one.entry not in denied]


def _asked(found: Survey, proposed: Sequence[str], denied: dict[str, str]) -> list[str]:
    """Ask a person which tools to take.

    Raises:
        UsageError: There is no terminal to ask on.
        Interrupted: None was chosen.
    """
    from strands_cli.cli.terminal.terminal_human import is_interactive

    if not proposed:
        return []
    every = [one.entry for one in _offered(found, denied) if not one.is_private]
    if not is_interactive():
        again = "--yes for those that were adopted, " if len(proposed) < len(every) else ""
        raise UsageError("there is no terminal to ask which tools to adopt", fix=f"pass {again}--all, or --tool NAME")
    names = {one.entry: one.name for one in found.candidates}
    default = "all" if len(proposed) == len(every) else ", ".join(names[entry] for entry in proposed)
    write_error(f"adopt which? (numbers or names, `all`, `none`) [{default}] ")
    answer = sys.stdin.readline()
    if not answer.strip():
        if not answer:
            raise Interrupted("nothing was changed")
        return list(proposed)
    words = answer.replace(",", " ").split()
    if [word.lower() for word in words] in (["none"], ["n"], ["no"]):
        raise Interrupted("nothing was changed")
    if [word.lower() for word in words] in (["all"], ["y"], ["yes"]):
        return every
    return words


def _require_allowed(found: Survey, chosen: Sequence[Candidate], denied: dict[str, str]) -> None:
    """Refuse a choice with a tool that policy denies, or without any tool.

    Raises:
        Denied: Policy denies a tool.
        InvalidInput: There is none.
    """
    refused = [one for one in chosen if one.entry in denied]
    if refused:
        findings = [
            Finding(
                ADOPTION_DENIED,
                f"policy denies '{one.name}' ({one.entry}): {denied[one.entry]}",
                None,
                f"have the rule changed, if it should not match: strands explain policy native:{one.name}",
            )
            for one in refused
        ]
        raise Denied("nothing was adopted", findings=findings)
    if not chosen:
        message = f"'{found.found.distribution}' has tools, but none can be adopted as it is"
        fix = None
        if all("its code must make it" in (one.problem or "") for one in found.candidates):
            fix = f"write a small plugin that makes them: strands plugin new {found.found.distribution}-tools"
        if any("--import" in (one.problem or "") for one in found.candidates):
            fix = f"strands plugin adopt {found.found.distribution} --import"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])


def unadopt(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="DIST|NAME...", help="Distributions or tools.", autocompletion=completions.distributions
        ),
    ],
    project: PROJECT = False,
    as_json: JSON = False,
) -> int:
    """Take adopted tools, or all of a distribution, out of strands-adopted.json.

    Example: strands plugin unadopt strands-hubspot
    """
    from strands_cli.plugins.adopt.adoption import read_for_change
    from strands_cli.plugins.adopt.adoption import unadopt as take_out

    known: dict[str, Any] = {"file": None, "removed": {}}
    with json_on_failure(known if as_json else None):
        path = adoption_file(project=project)
        known["file"] = str(path)
        file = read_for_change(path)
        there = {*file.distributions, *(name for one in file.distributions.values() for name in one.tools)}
        names = [name.removeprefix("native:") for name in names]
        unknown = [name for name in names if name.rpartition("/")[2] not in there]
        if unknown:
            listed = first_of(sorted(there), MOST_LISTED)
            raise UsageError(
                f"'{unknown[0]}' is not adopted in {path}",
                fix=suggest(unknown[0], sorted(there), f"it has: {listed}")
                if there
                else "see what can be adopted: strands plugin list",
            )
        known["removed"] = take_out(path, names)
    if as_json:
        print_json(known)
    else:
        for distribution, tools in known["removed"].items():
            print_result(f"no longer adopted: {_refs(tools)} of {distribution}")
    return ExitCode.OK
