"""Check the effects of importing a plugin, in a child process."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.errors import Finding, Severity, Where
from strands_cli.plugins.check.child_import import LoadedApart, LoadFailure, load_apart
from strands_cli.plugins.check.project import PluginProject

LOAD_SECONDS = 20.0
SLOW_SECONDS = 1.0


def check_import(
    project: PluginProject, module: str, attribute: str | None, seconds: float
) -> tuple[LoadedApart | None, list[Finding]]:
    """Import one entry point and return its tools (None if the import fails) and the findings about the import.

    Args:
        project: The plugin.
        module: Dotted name.
        attribute: As in the entry point.
        seconds: The time limit, including the SDK's own import.
    """
    where = Where(str(project.source))
    try:
        loaded = load_apart(project.source, module, attribute, seconds)
    except LoadFailure as failure:
        return None, [Finding("import-hangs" if failure.timed_out else "import-failed", str(failure), where)]
    return loaded, list(_effects(loaded, module, where))


def _effects(loaded: LoadedApart, module: str, where: Where) -> Iterator[Finding]:
    if loaded.changed:
        yield Finding("import-changes-process", f"importing '{module}' changes {', '.join(loaded.changed)}", where)
    if loaded.threads:
        severity: Severity = "error" if loaded.blocking else "warning"
        message = f"importing '{module}' leaves a thread running: {', '.join(loaded.threads)}"
        yield Finding("import-leaves-thread", message, where, severity=severity)
    if loaded.printed:
        first = loaded.printed.strip().splitlines()[:1]
        message = f"importing '{module}' prints: {''.join(first)[:80]!r}"
        yield Finding("import-prints", message, where, severity="warning")
    if loaded.seconds > SLOW_SECONDS:
        message = f"importing '{module}' takes {loaded.seconds:.1f} s; the limit is {SLOW_SECONDS:g} s"
        yield Finding("import-slow", message, where, severity="warning")
