"""Check the effects of importing a plugin, in a child process."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.errors import Code, Finding, Severity, Where
from strands_cli.plugins.check.child_import import LoadedApart, LoadFailure, load_apart
from strands_cli.plugins.check.project import PluginProject

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
    "Leave them as they are: other tools run in the same process.",
)

SLOW_SECONDS = 1.0


def check_import(
    project: PluginProject, name: str, reference: tuple[str, str | None], seconds: float
) -> tuple[LoadedApart | None, list[Finding]]:
    """Import one entry point and return its tools (None if the import fails) and the findings about the import."""
    where, (module, attribute) = Where(str(project.source)), reference
    try:
        loaded = load_apart(project.source, module, attribute, seconds)
    except LoadFailure as failure:
        message = f"the entry point '{name}': {failure}"
        return None, [Finding(IMPORT_HANGS if failure.timed_out else IMPORT_FAILED, message, where)]
    return loaded, list(_effects(loaded, module, where))


def _effects(loaded: LoadedApart, module: str, where: Where) -> Iterator[Finding]:
    if loaded.changed:
        yield Finding(IMPORT_CHANGES_PROCESS, f"importing '{module}' changes {', '.join(loaded.changed)}", where)
    if loaded.threads:
        severity: Severity = "error" if loaded.blocking else "warning"
        message = f"importing '{module}' leaves a thread running: {', '.join(loaded.threads)}"
        yield Finding(IMPORT_LEAVES_THREAD, message, where, severity=severity)
    if loaded.printed:
        first = loaded.printed.strip().splitlines()[:1]
        message = f"importing '{module}' prints: {''.join(first)[:80]!r}"
        yield Finding(IMPORT_PRINTS, message, where, severity="warning")
    if loaded.seconds > SLOW_SECONDS:
        message = f"importing '{module}' takes {loaded.seconds:.1f} s; the limit is {SLOW_SECONDS:g} s"
        yield Finding(IMPORT_SLOW, message, where, severity="warning")
