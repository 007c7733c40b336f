"""A patch for a tool's own authors: the manifest and the entry points with which it needs no adoption."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from strands_cli.api import Manifest, write_result
from strands_cli_dev.adoption.adoptable_tools import TOOLS as GROUP
from strands_cli_dev.adoption.candidates import Candidate, Survey
from strands_cli_dev.plugin_check.manifests import render

PROJECT_FILE = "pyproject.toml"
_GIT = "--git"  # how a patch that `git apply` takes names its files


def write_patch(survey: Survey, candidates: Sequence[Candidate], folder: Path) -> Path:
    """Write `DIST.patch` into a folder and return its path.

    If the folder is a checkout of the project, the patch also changes its `pyproject.toml`, and the manifest is put
    where the package is; otherwise the lines are in the patch's introduction.

    Raises:
        ArtifactError: The file cannot be written.
    """
    named = _named(candidates)
    points = [
        f'{candidate.called} = "{candidate.entry}"'
        for candidate in sorted(named, key=lambda candidate: candidate.called)
    ]
    top = _top_level(named or list(candidates))
    source = "src/" if (folder / "src" / top).is_dir() else ""
    manifest = _manifest(survey, named)
    parts = [_introduction(survey, candidates, named, points), _added(f"{source}{top}/{Manifest.FILE_NAME}", manifest)]
    project = folder / PROJECT_FILE
    if project.is_file():
        parts.append(_declared(project, points))
    target = folder / f"{survey.tools.distribution}.patch"
    with contextlib.suppress(OSError):  # writing the file says why it cannot be made
        folder.mkdir(parents=True, exist_ok=True)
    write_result(target, "".join(parts))
    return target


def _named(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those that an entry point of their own name can declare: single tools, the first of each name."""
    fitting = [
        candidate
        for candidate in candidates
        if Manifest.TOOL_NAME.fullmatch(candidate.called) and not candidate.tool.members
    ]
    return list({candidate.called: candidate for candidate in reversed(fitting)}.values())


def _top_level(candidates: Sequence[Candidate]) -> str:
    modules = [candidate.entry.partition(":")[0].split(".")[0] for candidate in candidates]
    return max(modules, key=modules.count)


def _manifest(survey: Survey, candidates: Sequence[Candidate]) -> str:
    tools: list[dict[str, Any]] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.called):
        definition = {key: value for key, value in candidate.tool.definition.items() if value not in (None, {})}
        tools.append({"name": candidate.called, "entry": candidate.entry, **definition})
    return render(Manifest.document(survey.tools.distribution, tools))


def _introduction(
    survey: Survey, candidates: Sequence[Candidate], named: Sequence[Candidate], points: Sequence[str]
) -> str:
    tools = survey.tools
    lines = [
        f"{tools.distribution} {tools.version or ''}: declare the tools to strands-cli".replace(" :", ":"),
        "",
        "With these lines in pyproject.toml, and the manifest below as package data, the tools are listed without an",
        "import, and work as native:NAME wherever the distribution is installed. Nothing else changes, and neither",
        "is a dependency.",
        "",
        f'    [project.entry-points."{GROUP}"]',
        *(f"    {point}" for point in points),
        "",
        "What makes it better: readOnlyHint, destructiveHint and capabilities in the manifest, so that not every call",
        "of a tool that only reads asks a person; `strands plugin check --import` checks all of it.",
    ]
    left_out = [candidate.entry for candidate in candidates if candidate not in named]
    if left_out:
        lines += ["", f"Left out, as an entry point has the name of one tool: {', '.join(left_out)}"]
    return "\n".join(lines) + "\n---\n"


def _added(path: str, text: str) -> str:
    lines = text.splitlines(keepends=True)
    body = "".join(f"+{line}" for line in lines)
    return (
        f"diff {_GIT} a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1,{len(lines)} @@\n{body}"
    )


def _declared(project: Path, points: Sequence[str]) -> str:
    """Return the hunk that adds the entry points at the end of a `pyproject.toml`."""
    try:
        old = project.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    if GROUP in old:
        return ""
    name = PROJECT_FILE
    lines = old.split("\n")
    ends = lines[-1] == ""  # with a line end, as it should
    context = lines[-4:-1] if ends else lines[-3:-1]
    last = [] if ends else [f"-{lines[-1]}", "\\ No newline at end of file", f"+{lines[-1]}"]
    added = ["+", f'+[project.entry-points."{GROUP}"]', *(f"+{point}" for point in points)]
    count = len(context) + (not ends)
    start = len(lines) - ends - count + 1
    head = f"@@ -{start},{count} +{start},{count + len(added)} @@"
    body = [f" {line}" for line in context]
    return "\n".join(
        [f"diff {_GIT} a/{name} b/{name}", f"--- a/{name}", f"+++ b/{name}", head, *body, *last, *added, ""]
    )
