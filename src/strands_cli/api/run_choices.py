"""The options of a run in the Python API, and the Python objects that a program passes as tools."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from strands_cli.catalog import Catalog
from strands_cli.events import Event, RunWarning
from strands_cli.planning import RunRequest, converted

if TYPE_CHECKING:
    from strands_cli.tools.loading import ObjectTools


class StoredRunChoices(TypedDict, total=False):
    """What may be chosen again for a stored run; everything else is as it was when the run began.

    Attributes:
        tools: The Python objects that the run has as tools: a journal cannot store them.
        out_dir: A new directory for artifacts.
        force: Whether artifacts that exist are overwritten.
        record: File that gets the model's turns as a recording.
        runs_dir: The directory of run journals.
        catalog: The installed tools; found again by default.
        policy: As for a new run; by default as when the run began.
        locked: As for a new run; by default as when the run began.
        hooks: As for a new run; the run's journal does not store them.
    """

    tools: Sequence[Any]
    out_dir: str | Path
    force: bool
    record: str | Path | None
    runs_dir: str | Path | None
    catalog: Catalog | None
    policy: str | Path | None
    locked: bool
    hooks: Sequence[str]


class RunChoices(StoredRunChoices, total=False):
    """The options of a run besides its inputs; `tools`, `catalog` and `hooks` are not on the command line.

    Attributes:
        tools: Python objects as tools of the workflow: an `@tool` function, an `AgentTool`, a module, a provider, a
            class with `@tool` methods. Their calls pass the same permission check as those of installed tools.
        allow: Names or globs of tools whose calls need no approval.
        yes: Whether no call needs approval.
        provider: Model provider for all agents.
        model: Model for all agents.
        out_dir: Where artifacts go, `artifacts` by default.
        force: Whether artifacts that exist are overwritten.
        record: File that gets the model's turns as a recording.
        runs_dir: The directory of run journals.
        catalog: The installed tools; found again for each run by default.
        policy: A policy file that replaces the project's, which is beside the workflow.
        locked: Whether a strands.lock is required.
        hooks: Distributions of hook plugins, besides those that the managed and the user's policy file switch on.
    """

    allow: Sequence[str]
    yes: bool
    provider: str | None
    model: str | None


def new_request(
    inputs: Mapping[str, Any] | None, choices: RunChoices, python_tools: ObjectTools | None = None
) -> RunRequest:
    """Return the request of a new run.

    Raises:
        TypeError: A name is unknown.
    """
    require_known(choices, RunChoices)
    return RunRequest(values=dict(inputs or {}), **_fields(choices, python_tools))


def changes_of(choices: StoredRunChoices, python_tools: ObjectTools) -> dict[str, Any]:
    """Return the fields of a stored run's request that a program replaces.

    Raises:
        TypeError: A name is unknown.
    """
    require_known(choices, StoredRunChoices)
    return _fields(choices, python_tools)


def _fields(choices: RunChoices | StoredRunChoices, python_tools: ObjectTools | None) -> dict[str, Any]:
    """Return choices as fields of the request; `tools` become their descriptions, `catalog` is omitted."""
    fields = {name: value for name, value in choices.items() if name not in ("tools", "catalog")}
    return {**converted(fields), "tools": python_tools.records if python_tools is not None else ()}


def require_known(choices: Mapping[str, Any], kind: type) -> None:
    """Check the names of choices, which Python does not check.

    Raises:
        TypeError: A name is unknown.
    """
    unknown = choices.keys() - kind.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown arguments: {', '.join(sorted(unknown))}")


@contextlib.asynccontextmanager
async def opened_python_tools(
    choices: RunChoices | StoredRunChoices, emit: Callable[[Event], object]
) -> AsyncIterator[ObjectTools]:
    """Read the objects that a program passes as tools, and close the resulting tools at the end."""
    from strands_cli.engine.ports import SystemClock
    from strands_cli.tools.loading import read_object_tools  # brings the SDK

    python_tools = await read_object_tools(choices.get("tools", ()))
    try:
        yield python_tools
    finally:
        for problem in await python_tools.close():
            emit(RunWarning(SystemClock().now(), problem))
