"""Check the effects of importing a plugin, in a child process."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.api import Code, Finding, SourceTool, Where
from strands_cli_dev.child_import import IMPORT_SECONDS, ChildImport, ImportFailure, import_in_child
from strands_cli_dev.plugin_check.plugin_project import PluginProject

IMPORT_FAILED = Code(
    "import-failed", "A plugin cannot be imported, or ends the process.", "Correct what the message names."
)
IMPORT_HANGS = Code(
    "import-hangs", "Importing a plugin takes longer than allowed.", "Only define names while a module is imported."
)
IMPORT_SLOW = Code(
    "import-slow",
    "Importing a plugin takes more than a second.",
    "Import slow modules inside the functions that need them.",
)
IMPORT_PRINTS = Code("import-prints", "A plugin prints while it is imported.", "Print nothing; use logging instead.")
IMPORT_LEAVES_THREAD = Code(
    "import-leaves-thread",
    "A plugin starts a thread while it is imported.",
    "Start it with the first call, or do not start it.",
)
IMPORT_CHANGES_PROCESS = Code(
    "import-changes-process",
    "Importing a plugin changes the current directory, sys.path or the environment.",
    "Leave them: other tools run in the same process.",
)

SLOW_SECONDS = 1.0


def split_reference(value: str) -> tuple[str, str | None]:
    """Return the module and the attribute that an entry point names, without its extras."""
    module, _, attribute = "".join(value.split()).partition("[")[0].partition(":")
    return module, attribute or None


def import_tool(project: PluginProject, name: str, seconds: float = IMPORT_SECONDS) -> tuple[SourceTool, ChildImport]:
    """Import an entry point of a tool, and return its tools and the effects of the import.

    Raises:
        ImportFailure: It cannot be imported, or has no tool.
    """
    module, attribute = split_reference(project.source.tools[name])
    loaded = import_in_child([str(project.source.root.resolve())], module, [attribute], seconds)
    (tool,) = loaded.tools
    if isinstance(tool, str):
        raise ImportFailure(f"'{module}' cannot be loaded: {tool}")
    return tool, loaded


def check_import(project: PluginProject, name: str, seconds: float) -> tuple[SourceTool | None, list[Finding]]:
    """Import an entry point of a tool; return its tools (None if that fails), and the findings about the import."""
    where = Where(str(project.source.root))
    try:
        tool, loaded = import_tool(project, name, seconds)
    except ImportFailure as failure:
        return None, [_failed(name, failure, where)]
    return tool, list(_effects(loaded, split_reference(project.source.tools[name])[0], where))


def check_import_of_part(project: PluginProject, part: tuple[str, str, str], seconds: float) -> Iterator[Finding]:
    """Yield why the object that an entry point of another group names cannot be imported."""
    _, name, value = part
    module, attribute = split_reference(value)
    try:
        names = [attribute] if attribute else []
        import_in_child([str(project.source.root.resolve())], module, (), seconds, names=names)
    except ImportFailure as failure:
        yield _failed(name, failure, Where(str(project.source.root)))


def _failed(name: str, failure: ImportFailure, where: Where) -> Finding:
    return Finding(IMPORT_HANGS if failure.timed_out else IMPORT_FAILED, f"the entry point '{name}': {failure}", where)


def _effects(loaded: ChildImport, module: str, where: Where) -> Iterator[Finding]:
    if loaded.changed:
        yield Finding(IMPORT_CHANGES_PROCESS, f"importing '{module}' changes {', '.join(loaded.changed)}", where)
    if loaded.threads:
        message = f"importing '{module}' leaves a thread running: {', '.join(loaded.threads)}"
        yield Finding(IMPORT_LEAVES_THREAD, message, where, severity="error" if loaded.is_blocked else "warning")
    if loaded.printed:
        first = loaded.printed.strip().splitlines()[:1]
        message = f"importing '{module}' prints: {''.join(first)[:80]!r}"
        yield Finding(IMPORT_PRINTS, message, where, severity="warning")
    if loaded.seconds > SLOW_SECONDS:
        message = f"importing '{module}' takes {loaded.seconds:.1f} s; the limit is {SLOW_SECONDS:g} s"
        yield Finding(IMPORT_SLOW, message, where, severity="warning")
