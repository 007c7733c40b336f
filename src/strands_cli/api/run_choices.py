"""What a program chooses about a run, and the tools it gives."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from strands_cli.catalog import Catalog
from strands_cli.events import Event, RunWarning
from strands_cli.planning import RunRequest, converted

if TYPE_CHECKING:
    from strands_cli.tools import GivenTools


class RunChoices(TypedDict, total=False):
    """What a run is given besides its inputs; `tools`, `catalog` and `hooks` are no options of the command line.

    Attributes:
        tools: Python objects as tools of the workflow: what `@tool` made, an `AgentTool`, a module, a provider, a
            class with `@tool` methods. Calls of them pass the same gate as those of installed tools.
        allow: Names or globs of tools whose calls need not be asked about.
        yes: Whether no call needs to be asked about.
        provider: Model provider for all agents.
        model: Model for all agents.
        out_dir: Where artifacts go, `artifacts` by default.
        force: Whether artifacts that exist are overwritten.
        record: File that gets the model's turns as a recording.
        runs_dir: Where records of runs are kept.
        catalog: The installed tools; found again for each run by default.
        policy: A policy file in place of the project's, which would be beside the workflow.
        locked: Whether a strands.lock is required.
        hooks: Distributions of hook plugins, beside those that the managed and the user's policy file switch on.
    """

    tools: Sequence[Any]
    allow: Sequence[str]
    yes: bool
    provider: str | None
    model: str | None
    out_dir: str | Path
    force: bool
    record: str | Path | None
    runs_dir: str | Path | None
    catalog: Catalog | None
    policy: str | Path | None
    locked: bool
    hooks: Sequence[str]


class StoredRunChoices(TypedDict, total=False):
    """What may be chosen again for a stored run; everything else is as it was when the run began.

    Attributes:
        tools: The Python objects that the run was given as tools: a record cannot keep them.
        out_dir: Where artifacts go, if not where they went.
        force: Whether artifacts that exist are overwritten.
        record: File that gets the model's turns as a recording.
        runs_dir: Where records of runs are kept.
        catalog: The installed tools; found again by default.
        policy: As for a new run; by default what the run began with.
        locked: As for a new run; by default what the run began with.
        hooks: As for a new run; the run's record does not keep them.
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


def new_request(inputs: Mapping[str, Any] | None, choices: RunChoices, given: GivenTools | None = None) -> RunRequest:
    """Return the request of a new run.

    Raises:
        TypeError: there is no such choice.
    """
    require_known(choices, RunChoices)
    return RunRequest(values=dict(inputs or {}), **_fields(choices, given))


def changes_of(choices: StoredRunChoices, given: GivenTools) -> dict[str, Any]:
    """Return the fields of a stored run's request that a program replaces.

    Raises:
        TypeError: there is no such choice.
    """
    require_known(choices, StoredRunChoices)
    return _fields(choices, given)


def _fields(choices: RunChoices | StoredRunChoices, given: GivenTools | None) -> dict[str, Any]:
    """Return choices as fields of the request; `tools` become their descriptions, `catalog` is about the machine."""
    fields = {name: value for name, value in choices.items() if name not in ("tools", "catalog")}
    return {**converted(fields), "tools": given.records if given is not None else ()}


def require_known(choices: Mapping[str, Any], kind: type) -> None:
    """Check the names of choices, which Python does not.

    Raises:
        TypeError: there is no such choice.
    """
    unknown = choices.keys() - kind.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown arguments: {', '.join(sorted(unknown))}")


@contextlib.asynccontextmanager
async def tools_given(
    choices: RunChoices | StoredRunChoices, emit: Callable[[Event], object]
) -> AsyncIterator[GivenTools]:
    """Read the objects that a program gives as tools, and close in the end what was made of them."""
    from strands_cli.engine import SystemClock
    from strands_cli.tools import read_given  # brings the SDK

    given = await read_given(choices.get("tools", ()))
    try:
        yield given
    finally:
        for problem in await given.close():
            emit(RunWarning(SystemClock().now(), problem))
