"""The files that a command depends on, and the definitions of the tools among them; nothing is imported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import StrandsCliError, UsageError

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.lock.lock_reader import LockedDistribution
    from strands_cli.planning.plan_values import Plan, PlannedTool
    from strands_cli.planning.run_request import RunRequest

# The options whose files are read; those of the other options are written.
_READ = ("policy", "values")


class UsedFiles:
    """The files that a command depends on: those that it names, those of their tools, and the rules of the folder.

    Attributes:
        places: Paths of files and folders, also of some that do not exist: a policy file that appears counts.
    """

    def __init__(
        self, places: Iterable[str | os.PathLike[str]], distributions: Mapping[str, LockedDistribution] | None = None
    ) -> None:
        self.places = frozenset(str(os.fspath(path)) for path in places)
        self._distributions = distributions or {}

    @classmethod
    def of(cls, words: Sequence[str], before: UsedFiles | None = None) -> UsedFiles:
        """Return the files of a command.

        Args:
            words: The command and its arguments: `["run", "flow.yaml"]`.
            before: The files of an earlier look, which count while a workflow has mistakes.

        Raises:
            StrandsCliError: There is no such command, workflow or tool, or a workflow is read from standard input.
        """
        path, arguments, options = _parsed(words)
        named = [str(value) for value in _flat(arguments.values())]
        if "-" in named:
            raise UsageError("standard input cannot be watched", fix="write the workflow to a file")
        folder = Path.cwd()
        files = cls([*filter(os.path.exists, named), *_flat(options.get(name) for name in _READ)])
        if path == ["tools", "run"]:
            return files.also(_of_tool(named[0], folder, options.get("policy")))
        specs = [str(file) for file in _flat([arguments.get("spec"), arguments.get("specs")])]
        for spec in (spec for spec in specs if not Path(spec).is_dir()):
            files = files.also(_of_workflow(spec, _request(options), before))
        return files

    def also(self, other: UsedFiles) -> UsedFiles:
        """Return both together; the definitions of the other are the newer ones."""
        return UsedFiles(self.places | other.places, {**self._distributions, **other._distributions})

    def definition_changes(self, before: UsedFiles) -> list[str]:
        """Return which fields of the definitions of tools differ from an earlier look, a line each."""
        from strands_cli.lock.compare import compare_distribution

        old, new = before._distributions, self._distributions
        changes = [
            (name, difference)
            for name in sorted(old.keys() & new.keys())
            for difference in compare_distribution(old[name], new[name], whole=True)
        ]
        return [
            f"{name} has a new tool '{difference.tool}'" if difference.unlisted else difference.message
            for name, difference in changes
            if difference.tool is not None
        ]


def _parsed(words: Sequence[str]) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """Return the names of a command and of its groups, its arguments and its options; the command does not run."""
    from typer.main import get_command

    from strands_cli.cli.program import program

    command: Any = get_command(program)
    name, rest, path, context = "strands", [*words], list[str](), None
    while True:
        context = command.make_context(name, rest, parent=context)
        if not hasattr(context.command, "resolve_command"):
            break
        name, command, rest = context.command.resolve_command(context, rest)
        path.append(name)
    kinds = {param.name: param.param_type_name for param in context.command.params}
    arguments = {name: value for name, value in context.params.items() if kinds.get(name) == "argument"}
    return path, arguments, {name: value for name, value in context.params.items() if name not in arguments}


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        elif value is not None:
            yield value


def _request(options: Mapping[str, Any]) -> RunRequest:
    """Return the request in the options of a command; the run itself reports the output of hook plugins."""
    from strands_cli.cli.commands.command_options import Chosen
    from strands_cli.planning.run_request import options as of_requests

    request = Chosen({name: value for name, value in options.items() if name in of_requests()}).request()
    return replace(request, no_plugins=True, trace_hooks=False, tell=lambda _line: None)


def _of_tool(name: str, folder: Path, policy: Path | None) -> UsedFiles:
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.planning.resolve.single_tool import find_single_tool

    catalog = discover_catalog(project=folder)
    return _of_rules(folder, policy).also(_of_tools([find_single_tool(name, catalog)], catalog))


def _of_workflow(spec: str, request: RunRequest, before: UsedFiles | None) -> UsedFiles:
    """Return the files of a run; of a workflow with mistakes its own files, and those of an earlier look."""
    from strands_cli import app
    from strands_cli.catalog.catalog import discover_catalog

    loaded = app.load(spec) if before is None else None
    used = _of_rules(Path(spec).resolve().parent, request.policy).also(UsedFiles([Path(spec).resolve()]))
    try:
        return used.also(_of_plan(app.plan(spec, request), discover_catalog(project=Path(spec).resolve().parent)))
    except StrandsCliError:  # the command itself reports it
        files = [Path(document.file).resolve() for document in loaded.files] if loaded else []
        return (before or used).also(used).also(UsedFiles(files))


def _of_plan(plan: Plan, catalog: Catalog) -> UsedFiles:
    from strands_cli.planning.environment import python_places
    from strands_cli.planning.plan_values import with_parts

    recordings = [agent.recording for agent in plan.agents.values() if agent.recording]
    files = UsedFiles([os.path.realpath(plan.file), *plan.files, *recordings, *python_places(plan)])
    return files.also(_of_tools(with_parts(plan.called()), catalog))


def _of_tools(tools: Iterable[PlannedTool], catalog: Catalog) -> UsedFiles:
    """Return the files of installed tools: their packages and the metadata of their distributions."""
    from strands_cli.lock.package_documents import lock_distributions
    from strands_cli.planning.planned_tool import InstalledTool

    names = {tool.record.distribution for tool in tools if isinstance(tool, InstalledTool)}
    records = [record for record in catalog.tools if record.distribution in names]
    declared = lock_distributions([record for record in records if record.status != "broken"], catalog)
    return UsedFiles(_places(records, catalog), declared)


def _places(records: Iterable[ToolRecord], catalog: Catalog) -> Iterator[str]:
    for record in records:
        if record.location:
            yield record.location
        copies = catalog.scan.records.get(record.distribution, [])
        yield from (metadata for directory, metadata in copies if directory == record.path)


def _of_rules(folder: Path, policy: Path | None) -> UsedFiles:
    """Return where policy files, adoption files and the lock of a folder may be."""
    from strands_cli.catalog.adopted.adopted_file import AdoptedFile
    from strands_cli.config import read_settings
    from strands_cli.lock.lock_reader import lock_file
    from strands_cli.user_files.policy_files import policy_places

    settings = read_settings()
    policies = [path for _, path in policy_places(settings, folder, policy)]
    adopted = filter(None, (AdoptedFile.path(), AdoptedFile.path(folder)))
    return UsedFiles([*policies, *adopted, lock_file(folder)])
