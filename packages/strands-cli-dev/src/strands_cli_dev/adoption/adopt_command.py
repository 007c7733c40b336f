"""The commands `plugin adopt` and `plugin unadopt`: tools of distributions that declare none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Annotated, Any

import typer
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from strands_cli.api import (
    AdoptedFile,
    Code,
    Denied,
    ExitCode,
    Finding,
    InstalledTools,
    Interrupted,
    InvalidInput,
    NotEquipped,
    UsageError,
    counted,
    json_on_failure,
    print_json,
    print_result,
    say,
    say_findings,
    suggest,
    with_run_options,
)
from strands_cli_dev.adoption.adopt_lines import as_json_object, candidate_lines, first_of, heading, left_out_lines
from strands_cli_dev.adoption.adoptable_tools import TOO_MUCH_TO_ADOPT, TOOLS, adoptable_distributions, find_owner
from strands_cli_dev.adoption.adoption_file import adopt as write_adoption
from strands_cli_dev.adoption.adoption_file import read_for_change
from strands_cli_dev.adoption.adoption_file import unadopt as take_out
from strands_cli_dev.adoption.candidates import Candidate, Imports, Survey, names_of_others, survey
from strands_cli_dev.adoption.choice import Choice, choose
from strands_cli_dev.adoption.python_files import find_distribution
from strands_cli_dev.adoption.tool_makers import makers_of_tools
from strands_cli_dev.adoption.upstream_patch import write_patch

NOTHING_TO_ADOPT = Code(
    "nothing-to-adopt",
    "A distribution has no tools to adopt, declares them itself, or is not installed.",
    "Correct the name, or use what the message names.",
)
ADOPTION_DENIED = Code(
    "adoption-denied",
    "Policy denies a tool that is to be adopted.",
    "Have the rule changed, or leave the tool out.",
    21,
)

MOST_SHOWN = 8
MOST_LISTED = 20

JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
PROJECT = Annotated[bool, typer.Option("--project", help="The file of this folder, beside its workflows.")]


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """The tools to adopt, and how."""

    install: Annotated[bool, typer.Option("--install", help="Install it first, if it is not installed.")] = False
    index: Annotated[
        list[str] | None,
        typer.Option("--index", metavar="URL|DIR", help="With --install: look here, not in the configured indexes."),
    ] = None
    tools: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="NAME[=ALIAS]", help="Adopt this tool, under this name; may be repeated."),
    ] = None
    take_all: Annotated[bool, typer.Option("--all", help="Adopt every tool that can be adopted.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take all, or those adopted before.")] = False
    load: Annotated[
        bool, typer.Option("--import", help="Import what the source does not show, in a child process.")
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


def _complete(incomplete: str) -> list[str]:
    return sorted(
        {
            distribution.name
            for distribution in distributions()
            if distribution.name and distribution.name.startswith(incomplete)
        }
    )


@with_run_options()
def adopt(
    distribution: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIST]",
            help="A distribution; without it that of --tool.",
            autocompletion=_complete,
        ),
    ] = None,
    *,
    chosen_by: AdoptOptions,
) -> int:
    """Make the tools of a distribution that declares none usable as native:NAME.

    Its source is read without an import. Adopted tools are written into strands-adopted.json with the digests of its
    modules; a tool without declared safety asks before each call.

    Example: strands plugin adopt strands-hubspot --tool hubspot
    """
    document: dict[str, Any] = {"distribution": distribution, "version": None, "file": None, "imported": False}
    document |= {"adopted": [], "left_out": [], "tools": [], "patch": None, "findings": []}
    with json_on_failure(document if chosen_by.as_json else None):
        if chosen_by.take_all and chosen_by.tools:
            raise UsageError("--all and --tool cannot be combined", fix="pass one of them")
        line = _adopt(distribution, chosen_by, document)
    if chosen_by.as_json:
        print_json(document)
    else:
        print_result(line)
    return ExitCode.OK


def _adopt(named: str | None, options: AdoptOptions, document: dict[str, Any]) -> str:
    """Adopt, note the results in `document`, and return the action in words."""
    path, texts = adoption_file(project=options.project), options.tools or []
    if named is None:
        named, texts = _owner_of(texts)
    distribution = _installed(named, options)
    machine, adopted = InstalledTools(Path.cwd()), read_for_change(path)
    words = [Choice.parse(text).named for text in texts]
    other_names = {name for name, owner in machine.owners.items() if owner != distribution}
    imports = Imports() if options.load else None
    survey_result = survey(distribution, adopted, other_names, imports=imports, named=words, tell=say)
    document |= {"distribution": distribution, "version": survey_result.tools.version, "file": str(path)}
    _require_tools(survey_result)
    denied = _denied(survey_result, machine)
    document["tools"] = [as_json_object(candidate, denied) for candidate in survey_result.candidates]
    document["findings"] = [finding.as_dict() for finding in survey_result.findings]
    for line in (*heading(survey_result), *candidate_lines(survey_result, denied, texts)):
        say(line)
    say_findings(survey_result.findings)
    before = adopted.distributions.get(distribution)
    adopted_entries = {name: tool.entry for name, tool in before.tools.items()} if before and texts else {}
    if not texts:
        texts = _proposed(
            survey_result, {tool.entry for tool in before.tools.values()} if before else set(), options, denied
        )
        texts = texts if options.is_chosen else _ask_which(survey_result, texts, denied)
        is_named = False
    else:
        is_named = True
    chosen = choose(survey_result, texts, names_of_others(distribution, adopted) | other_names, adopted_entries)
    _require_allowed(survey_result, chosen, denied)
    if options.patch is not None:
        document["patch"] = written = str(write_patch(survey_result, chosen, options.patch))
        return written
    done = write_adoption(path, distribution, chosen, adds=is_named)
    document["adopted"] = sorted(candidate.name for candidate in chosen)
    document["left_out"] = [
        as_json_object(candidate, denied) for candidate in survey_result.candidates if candidate not in chosen
    ]
    document["imported"] = any(candidate.imported for candidate in chosen)
    if removed := sorted(set(done.before) - set(done.names)):
        say(f"no longer adopted: {', '.join(removed)}")
    for line in left_out_lines(survey_result, chosen, denied):
        say(line)
    count = f"{len(chosen)} of {counted(len(survey_result.candidates), 'tool')}"
    version = survey_result.tools.version or "?"
    return f"adopted {count} of {distribution} {version} in {path}: {_refs(document['adopted'])}"


def _refs(names: Sequence[str]) -> str:
    references = [f"native:{name}" for name in names]
    return first_of(references, MOST_SHOWN)


def adoption_file(*, project: bool) -> Path:
    """Return the path of the adoption file: the user's, or the one of the current folder.

    Raises:
        NotEquipped: There is no home directory.
    """
    path = AdoptedFile.path(Path.cwd() if project else None)
    if path is None:
        raise NotEquipped("there is no home directory for strands-adopted.json", fix="pass --project, or set HOME")
    return path


def _owner_of(tools: Sequence[str]) -> tuple[str, list[str]]:
    """Return the distribution of the only named tool, and the tool by its own name."""
    if len(tools) != 1:
        raise UsageError("Missing argument 'DIST'", fix="name a distribution, or one tool of it: --tool NAME")
    named, equals, alias = tools[0].partition("=")
    owner = find_owner(named)
    if owner is None:
        message = f"no installed distribution has a tool '{named}' that it does not declare"
        fix = "see what is installed: strands plugin list"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])
    return owner[0], [f"{owner[1]}{equals}{alias}"]


def _installed(named: str, options: AdoptOptions) -> str:
    """Return the normalised name of an installed distribution without declared tools, installing it if wanted."""
    name = _name_in(named)
    if not name or find_distribution(name) is None:
        if not options.install:
            raise _not_installed(name or named)
        before = _every_name()
        _install(named, options)
        name = name or next(iter(sorted(_every_name() - before)), named)
    record = find_distribution(name)
    own = sorted(point.name for point in record.entry_points.select(group=TOOLS)) if record else []
    if own:
        names = ", ".join(f"native:{tool_name}" for tool_name in own[:5])
        message = f"'{name}' declares its tools itself; there is nothing to adopt"
        fix = f"use them as they are: {names}"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])
    return name


def _name_in(named: str) -> str:
    """Return the normalised name in a requirement or the name of a wheel; empty for an archive or a folder."""
    try:
        if named.endswith(".whl"):
            return str(parse_wheel_filename(Path(named).name)[0])
        is_path = bool({"/", "\\"} & {*named}) or named in (".", "..") or named.endswith((".tar.gz", ".zip"))
        return "" if is_path and Path(named).exists() else canonicalize_name(Requirement(named).name)
    except (InvalidRequirement, InvalidWheelFilename) as error:
        fix = "name a distribution (NAME or NAME==1.2), a wheel, or a project folder (./folder)"
        raise UsageError(f"{named!r} is not a distribution", fix=fix) from error


def _every_name() -> set[str]:
    return {canonicalize_name(distribution.name) for distribution in distributions() if distribution.name}


def _install(named: str, options: AdoptOptions) -> None:
    """Install a distribution as `plugin install` does, with its questions; its results go to stderr."""
    flags = [*(["--yes"] if options.yes else []), *(word for url in options.index or () for word in ("--index", url))]
    command = [sys.executable, "-P", "-m", "strands_cli", "plugin", "install", named, "--force", *flags]
    code = subprocess.run(command, stdout=sys.stderr, check=False).returncode  # noqa: S603 - this very program
    if code:
        error = NotEquipped(f"'{named}' was not installed", fix="read why above")
        error.exit_code = ExitCode(code)
        raise error


def _not_installed(name: str) -> InvalidInput:
    message = f"the distribution '{name}' is not installed"
    way = f"correct the name, or install it from a source that you trust; indexes: strands plugin search {name}"
    fix = suggest(name, adoptable_distributions(), way)
    return InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])


def _require_tools(survey_result: Survey) -> None:
    if not survey_result.candidates:
        distribution, fix = survey_result.tools.distribution, "see what is installed: strands plugin list"
        message = f"'{distribution}' has no Strands tools in its source"
        if not survey_result.tools.files:
            message = f"'{distribution}' has no RECORD that lists a module"
            fix = f"install it from a wheel, as pip does: pip install --force-reinstall {distribution}"
        elif any(finding.code == TOO_MUCH_TO_ADOPT for finding in survey_result.findings):
            message += ", as far as it was read"
        if makers := makers_of_tools(survey_result.tools.files):
            message = f"'{distribution}' makes its tools when its code is called, by {first_of(makers, 5)}"
            fix = f"write a small plugin that calls it: strands plugin new {distribution}-tools"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix), *survey_result.findings])


def _denied(survey_result: Survey, machine: InstalledTools) -> dict[str, str]:
    """Return the rule that denies a tool, by the tool's entry."""
    if machine.policy_error is not None:
        raise machine.policy_error
    return machine.denials((candidate.record(survey_result.tools) for candidate in survey_result.adoptable), "adopted")


def _proposed(survey_result: Survey, again: set[str], options: AdoptOptions, denied: dict[str, str]) -> list[str]:
    """Return the proposed entries: those adopted before, else all.

    Args:
        again: The entries that were adopted before.

    Raises:
        InvalidInput: One was adopted by importing it, which needs `--import` each time.
    """
    entries = [
        candidate.entry
        for candidate in _offered(survey_result, denied)
        if not candidate.is_private or candidate.entry in again
    ]
    hidden = [
        candidate
        for candidate in survey_result.candidates
        if candidate.entry in again and "--import" in (candidate.problem or "")
    ]
    if hidden and not options.take_all and options.patch is None:
        message = f"'{hidden[0].name}' was adopted by importing it, and its source does not show it"
        fix = f"strands plugin adopt {survey_result.tools.distribution} --import"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])
    entries_again = [entry for entry in entries if entry in again]
    return entries if options.take_all or options.patch is not None or not entries_again else entries_again


def _offered(survey_result: Survey, denied: dict[str, str]) -> list[Candidate]:
    return [candidate for candidate in survey_result.adoptable if candidate.entry not in denied]


def _ask_which(survey_result: Survey, proposed: Sequence[str], denied: dict[str, str]) -> list[str]:
    """Ask a person which tools to take."""
    if not proposed:
        return []
    every = [candidate.entry for candidate in _offered(survey_result, denied) if not candidate.is_private]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        again = "--yes for those that were adopted, " if len(proposed) < len(every) else ""
        raise UsageError("there is no terminal to ask which tools to adopt", fix=f"pass {again}--all, or --tool NAME")
    names = {candidate.entry: candidate.name for candidate in survey_result.candidates}
    default = "all" if len(proposed) == len(every) else ", ".join(names[entry] for entry in proposed)
    sys.stderr.write(f"adopt which? (numbers or names, `all`, `none`) [{default}] ")
    sys.stderr.flush()
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


def _require_allowed(survey_result: Survey, candidates: Sequence[Candidate], denied: dict[str, str]) -> None:
    """Refuse a choice with a tool that policy denies, or without any tool."""
    refused = [candidate for candidate in candidates if candidate.entry in denied]
    if refused:
        findings = [
            Finding(
                ADOPTION_DENIED,
                f"policy denies '{candidate.name}' ({candidate.entry}): {denied[candidate.entry]}",
                None,
                f"have the rule changed, if it should not match: strands explain policy native:{candidate.name}",
            )
            for candidate in refused
        ]
        raise Denied("nothing was adopted", findings=findings)
    if not candidates:
        message = f"'{survey_result.tools.distribution}' has tools, but none can be adopted as it is"
        fix = None
        if all("its code must make it" in (candidate.problem or "") for candidate in survey_result.candidates):
            fix = f"write a small plugin that makes them: strands plugin new {survey_result.tools.distribution}-tools"
        if any("--import" in (candidate.problem or "") for candidate in survey_result.candidates):
            fix = f"strands plugin adopt {survey_result.tools.distribution} --import"
        raise InvalidInput(message, findings=[Finding(NOTHING_TO_ADOPT, message, None, fix)])


def unadopt(
    names: Annotated[
        list[str],
        typer.Argument(metavar="DIST|NAME...", help="Distributions or tools.", autocompletion=_complete),
    ],
    project: PROJECT = False,
    as_json: JSON = False,
) -> int:
    """Take adopted tools, or all of a distribution, out of strands-adopted.json.

    Example: strands plugin unadopt strands-hubspot
    """
    document: dict[str, Any] = {"file": None, "removed": {}}
    with json_on_failure(document if as_json else None):
        path = adoption_file(project=project)
        document["file"] = str(path)
        file = read_for_change(path)
        there = {
            *file.distributions,
            *(name for distribution in file.distributions.values() for name in distribution.tools),
        }
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
        document["removed"] = take_out(path, names)
    if as_json:
        print_json(document)
    else:
        for distribution, tools in document["removed"].items():
            print_result(f"no longer adopted: {_refs(tools)} of {distribution}")
    return ExitCode.OK
