"""What the command line (or the Python API) adds to a workflow when it is planned and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.catalog import ToolRecord


def log_line(line: str) -> None:
    """Log a line, for programs that say nowhere else where lines go."""
    import logging

    logging.getLogger("strands_cli").warning(line)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Choices made outside the file.

    `given` are inputs as text (`--var`), coerced to their declared types; `values` are inputs that have types already
    (`--vars-file`, the Python API). `allow` are tool names or globs; `yes` allows every call that would ask. `tools`
    describes tools that a program gives as Python objects; they belong to the workflow. `beside` is what relative paths
    start from: the working directory as it was before any tool could change it. `locked` asks for a lock; `policy` is a
    policy file that takes the place of the project's; `reload` takes up changed tools between calls. `no_plugins`
    leaves out the hook plugins of the user's file, `hooks` names further ones; `tell` takes a line for the person from
    any thread: what a hook plugin did wrong, and with `trace_hooks` each call of a hook. `as_written` plans without
    rendering a template, for a look at a workflow that nobody has read yet.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    provider: str | None = None
    model: str | None = None
    allow: tuple[str, ...] = ()
    yes: bool = False
    detach: bool = False
    out_dir: Path = Path("artifacts")
    force: bool = False
    record: Path | None = None
    runs_dir: Path | None = None
    tools: tuple[ToolRecord, ...] = ()
    beside: Path = field(default_factory=Path.cwd)
    locked: bool = False
    policy: Path | None = None
    reload: bool = False
    hooks: tuple[str, ...] = ()
    no_plugins: bool = False
    trace_hooks: bool = False
    as_written: bool = False
    tell: Callable[[str], None] = log_line
