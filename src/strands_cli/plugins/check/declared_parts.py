"""Check the commands, stores and other parts that a plugin declares, and its hooks: whether they can be used."""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.catalog.distributions.module_files import find_package, module_file
from strands_cli.catalog.entry_faults import BAD_ENTRY_POINT, MISSING_ATTRIBUTE, bad_value, unreadable
from strands_cli.catalog.source.absent_names import lacks_tool
from strands_cli.catalog.source.source_module import SourceError
from strands_cli.default_parts import EXPORTERS, HOOKS, OWNERS, PART_GROUPS, STORES, is_part_name
from strands_cli.errors import Finding, Where
from strands_cli.parts.named_parts import KINDS, PART_TAKEN, owner_of
from strands_cli.parts.part_faults import Declared, declared_faults
from strands_cli.plugins.check.effects_of_import import IMPORT_FAILED, IMPORT_HANGS
from strands_cli.plugins.check.project import PluginProject, moduleless, split_reference
from strands_cli.system.subprocesses import run_within

# What a module can be by itself: the groups whose objects have methods or hooks.
_MODULES = (HOOKS, STORES, OWNERS, EXPORTERS)
_IMPORTED = 77
_CHILD = f"""
import importlib, os, sys
sys.path.insert(0, sys.argv[1])
named = importlib.import_module(sys.argv[2])
for word in filter(None, sys.argv[3].split(".")):
    named = getattr(named, word)
os._exit({_IMPORTED})
"""


def check_parts(project: PluginProject, seconds: float | None, *, twins: bool) -> Iterator[Finding]:
    """Yield what keeps the parts of a plugin from being used; its tools are checked elsewhere.

    Args:
        seconds: The time limit for importing each one in a child process; None imports nothing.
        twins: Whether other distributions of this machine are searched for the same names.
    """
    where = Where(str(project.declared_in))
    yield from declared_faults(project.name, project.parts, where)
    for part in project.parts:
        if part.group not in (HOOKS, *PART_GROUPS):
            continue
        if part.group in PART_GROUPS and is_part_name(part.group, part.name):
            yield from _claimed(project, part, where, twins=twins)
        faults = list(_value_faults(project, part, where))
        yield from faults
        if seconds is not None and not faults:
            yield from _import_faults(project, part, seconds)


def _claimed(project: PluginProject, part: Declared, where: Where, *, twins: bool) -> Iterator[Finding]:
    from strands_cli.default_parts import owner_by_name

    own = normalise(project.name)
    if (owner := owner_by_name(part.group, part.name)) not in (None, own):
        message = f"'{project.name}' claims {KINDS[part.group].noun.format(part.name)}, which is that of {owner}"
        yield Finding(PART_TAKEN, message, where, "take another name")
    elif twins and owner is None and (other := owner_of(part.group, part.name)) not in (None, own):
        message = f"{KINDS[part.group].noun.format(part.name)} is also that of '{other}', which is installed here"
        yield Finding(PART_TAKEN, message, where, "with both installed neither can be used", severity="warning")


def _value_faults(project: PluginProject, part: Declared, where: Where) -> Iterator[Finding]:
    """Yield why the value of an entry point surely names nothing in the source."""
    reference = split_reference(part.value)
    if reference is None:
        yield bad_value(part.name, normalise(project.name), part.value, where)
        return
    module, attribute = reference
    file = _file_of(project, module)
    if file is None:
        yield moduleless(project, part.name, module)
        return
    if attribute is None and part.group not in _MODULES:
        message = f"the entry point '{part.name}' names the module {module}, not an object in it"
        yield Finding(BAD_ENTRY_POINT, message, where, f'write {part.name} = "{module}:NAME"')
    if not file.endswith(".py"):
        return
    raw = Path(file).read_bytes()
    try:
        ast.parse(raw)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield unreadable(module, SourceError(str(error), getattr(error, "lineno", None)), file)
        return
    if attribute and lacks_tool(raw, attribute.partition(".")[0]):
        message = f"the entry point {module}:{attribute} names what its module does not define"
        yield Finding(MISSING_ATTRIBUTE, message, Where(file))


def _file_of(project: PluginProject, module: str) -> str | None:
    """Return the file of a module, or the folder of a namespace package; None if the plugin does not have it."""
    listings = project.installed or {str(project.source): frozenset(os.listdir(project.source))}  # noqa: PTH208 - names
    package = find_package(module.partition(".")[0], listings, str(project.source))
    if package is None:
        return None
    place = package.directory or package.file or ""
    if not (project.installed or Path(place).is_relative_to(project.source)):
        return None
    return module_file(package, module) or (package.directory if "." not in module else None)


def _import_faults(project: PluginProject, part: Declared, seconds: float) -> Iterator[Finding]:
    module, attribute = split_reference(part.value) or ("", None)
    arguments = [str(project.source.resolve()), module, attribute or ""]
    with tempfile.TemporaryDirectory() as folder:
        printed, errors = Path(folder) / "stdout", Path(folder) / "stderr"
        with printed.open("wb") as out, errors.open("wb") as err:
            code = run_within(seconds, [sys.executable, "-P", "-B", "-c", _CHILD, *arguments], out, err)
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    where, who = Where(str(project.source)), f"the entry point '{part.name}'"
    if code is None:
        yield Finding(IMPORT_HANGS, f"{who}: importing '{module}' took more than {seconds:g} seconds", where)
    elif code != _IMPORTED:
        why = lines[-1] if lines else f"it ended the process with code {code}"
        yield Finding(IMPORT_FAILED, f"{who}: '{module}' cannot be imported: {why}", where)
