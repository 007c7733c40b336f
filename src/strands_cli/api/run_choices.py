"""The options of a run in the Python API, and the Python objects that a program passes as tools."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.api.choice_types import RunChoices, StoredRunChoices
from strands_cli.events import Event, RunWarning
from strands_cli.planning.run_request import RunRequest, chosen_place, converted
from strands_cli.store_place import StorePlace

if TYPE_CHECKING:
    from strands_cli.tools.tool_forms import ObjectTools


# Names that the SDK and strands-cli pass to tools.
_TAKEN = ("agent", "strands_cli", "tool", "tool_use", "messages", "model", "system_prompt", "tool_config")


def new_request(
    inputs: Mapping[str, Any] | None, choices: RunChoices, python_tools: ObjectTools | None = None
) -> RunRequest:
    """Return the request of a new run.

    Raises:
        TypeError: A name is unknown.
    """
    require_known(choices, RunChoices)
    _require_free(choices.get("context", {}))
    return RunRequest(values=dict(inputs or {}), **_fields(choices, python_tools))


def changes_of(choices: StoredRunChoices, python_tools: ObjectTools) -> dict[str, Any]:
    """Return the fields of a stored run's request that a program replaces.

    Raises:
        TypeError: A name is unknown.
    """
    require_known(choices, StoredRunChoices)
    _require_free(choices.get("context", {}))
    return _fields(choices, python_tools)


def place_of(changes: Mapping[str, Any]) -> StorePlace:
    """Return where the runs are that a program names."""
    return chosen_place(changes.get("runs_dir"), changes.get("store"))


def _fields(choices: RunChoices | StoredRunChoices, python_tools: ObjectTools | None) -> dict[str, Any]:
    """Return choices as fields of the request; `tools` become their descriptions, `catalog` is omitted."""
    fields = {name: value for name, value in choices.items() if name not in ("tools", "catalog")}
    records = python_tools.records if python_tools is not None else ()
    return {**converted(fields), "tools": records, "python_tools": python_tools}


def _require_free(context: Mapping[str, Any]) -> None:
    """Check the names of keywords for tools, which `ToolContext.invocation_state` has too."""
    wrong = [name for name in context if not str(name).isidentifier() or name in _TAKEN]
    if wrong:
        raise TypeError(f"context cannot have the names {', '.join(map(repr, wrong))}")


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
    from strands_cli.tools.tool_forms import read_object_tools  # brings the SDK

    python_tools = await read_object_tools(choices.get("tools", ()))
    try:
        yield python_tools
    finally:
        for problem in await python_tools.close():
            emit(RunWarning(SystemClock().now(), problem))
