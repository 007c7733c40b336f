"""The only importer of tool plugins: each tool a plan names, loaded once, held against its manifest."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from strands_cli.agents.forms import NotAToolError, Progress, RawTool, normal_spec, read_tools
from strands_cli.engine.scope import StepScope
from strands_cli.errors import Denied, NotEquipped, StrandsCliError
from strands_cli.events import ToolProgress
from strands_cli.planning.plan import PlannedTool


@dataclass(frozen=True, slots=True)
class LoadedTool:
    """A tool ready to be called: `spec` is what the model sees and what is validated."""

    planned: PlannedTool
    spec: Mapping[str, Any]
    raw: RawTool

    @property
    def claims(self) -> Mapping[str, Any]:
        """What the tool says of itself under `strands_cli`: limits, confirmation, capabilities."""
        claims = self.spec.get("strands_cli")
        return claims if isinstance(claims, Mapping) else {}

    async def run(self, tool_use: Mapping[str, Any], state: Mapping[str, Any], scope: StepScope, key: str) -> Any:
        """Call the tool; its intermediate values become events."""

        def progress(value: Any) -> None:
            scope.emit(ToolProgress(scope.now(), key, self.planned.name, printable_value(value)))

        report: Progress = progress
        return await self.raw.invoke(tool_use, state, report)


def printable_value(value: Any) -> Any:
    """Return an intermediate value as an event may carry it: JSON as it is, anything else as text."""
    return value if isinstance(value, (str, int, float, bool, list, dict, type(None))) else str(value)


@dataclass(slots=True)
class Toolbox:
    """All tools of one run; what has state is made once here and closed at the end."""

    tools: dict[PlannedToolKey, list[LoadedTool]] = field(default_factory=dict)
    closers: list[Any] = field(default_factory=list)

    def get(self, planned: PlannedTool) -> list[LoadedTool]:
        """Return what a planned tool loaded to: one, or all of a provider whose tools only loading could tell."""
        return self.tools[key_of(planned)]

    async def close(self) -> list[str]:
        """Close what has a `close`, `aclose` or `cleanup`; return what went wrong, one line each."""
        problems: list[str] = []
        for holder in reversed(self.closers):
            closing = next((m for n in ("aclose", "close", "cleanup") if callable(m := getattr(holder, n, None))), None)
            if closing is None:
                continue
            try:
                outcome = closing()
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as error:  # noqa: BLE001 - foreign code; the run's result stands, the person is told
                problems.append(f"closing {type(holder).__name__} failed: {type(error).__name__}: {error}")
        self.closers.clear()
        return problems


PlannedToolKey = tuple[str, str, str]


def key_of(planned: PlannedTool) -> PlannedToolKey:
    """Return what makes two planned tools the same: reference, model-facing name and configuration."""
    return planned.ref, planned.name, repr(sorted(planned.config.items()))


async def load_tools(
    planned_tools: Iterable[PlannedTool], base_dir: Path | None = None, python_path: Sequence[str] = ()
) -> Toolbox:
    """Import and check every tool of a plan before its first effect.

    Args:
        planned_tools: The tools; equal ones are loaded once.
        base_dir: The workflow's folder.
        python_path: `tools.python_path`: folders inside it that are searched for custom Python.

    Raises:
        NotEquipped: a plugin cannot be imported or holds no tool.
        Denied: a tool is not what its manifest says.
    """
    close_the_current_directory()
    toolbox = Toolbox()
    folders = custom_folders(base_dir, python_path)
    held: dict[tuple[str, str | None, str], tuple[list[RawTool], list[Any]]] = {}
    for planned in planned_tools:
        if key_of(planned) in toolbox.tools:
            continue
        module, attribute = location_of(planned)
        place = (module, attribute, repr(sorted(planned.config.items())))
        if place not in held:
            held[place] = await _read_plugin(planned, module, attribute, folders if planned.record is None else [])
            toolbox.closers += held[place][1]
        toolbox.tools[key_of(planned)] = _held_against_manifest(planned, held[place][0])
    return toolbox


def close_the_current_directory() -> None:
    """Take the current directory out of `sys.path`, so that no file lying there is imported as a plugin."""
    here = str(Path.cwd())
    sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", here)]


def location_of(planned: PlannedTool) -> tuple[str, str | None]:
    """Return the module and attribute to import: from the catalog, or from the custom reference."""
    if planned.record is not None:
        return planned.record.module, planned.record.attribute
    from strands_cli.toolref import ToolRef

    ref = ToolRef.parse(planned.ref)
    return str(ref.module), ref.attribute


def custom_folders(base_dir: Path | None, python_path: Sequence[str]) -> list[str]:
    """Return the folders for custom Python.

    Raises:
        Denied: one of them is not inside the workflow's folder.
    """
    folders: list[str] = []
    for entry in python_path:
        root = (base_dir or Path.cwd()).resolve()
        folder = (root / entry).resolve()
        if not folder.is_relative_to(root):
            raise Denied(f"tools.python_path names {entry!r}, which is outside the workflow's folder")
        folders.append(str(folder))
    return folders


async def _read_plugin(
    planned: PlannedTool, module: str, attribute: str | None, folders: Sequence[str]
) -> tuple[list[RawTool], list[Any]]:
    try:
        plugin: Any = _import(module, folders)
        for name in attribute.split(".") if attribute else ():
            plugin = getattr(plugin, name)
        return await read_tools(plugin, planned.config)
    except NotAToolError as error:
        raise NotEquipped(f"{planned.ref} of {planned.distribution} is no tool: {error}") from error
    except StrandsCliError:
        raise
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a plugin may raise anything while it is imported, SystemExit too
        raise NotEquipped(
            f"the tool {planned.ref} of {planned.distribution} cannot be loaded: {type(error).__name__}: {error}",
            fix=f"try: python -c 'import {module}'; then mend or upgrade {planned.distribution}",
        ) from error


def _import(module: str, folders: Sequence[str]) -> Any:
    """Import a module; the folders of custom Python are on the path only meanwhile, and last."""
    sys.path += folders
    try:
        return importlib.import_module(module)
    finally:
        for folder in folders:
            sys.path.remove(folder)


def _held_against_manifest(planned: PlannedTool, found: list[RawTool]) -> list[LoadedTool]:
    """Pick what was planned of what was loaded, and refuse it where the manifest says otherwise."""
    if planned.record is not None and planned.record.members is None:
        return [_loaded(replace(planned, name=raw.name, member=raw.name), raw, dict(raw.spec)) for raw in found]
    wanted = planned.member or (planned.record.name if planned.record else None)
    raw = next((tool for tool in found if tool.name == wanted), None)
    if raw is None and len(found) == 1 and planned.record is None:
        raw = found[0]
    if raw is None:
        names = ", ".join(tool.name for tool in found) or "nothing"
        raise Denied(f"manifest-mismatch: {planned.ref} of {planned.distribution} loaded to {names}, not to {wanted}")
    spec = dict(raw.spec)
    if planned.record is not None and planned.record.input_schema is not None:
        declared = declared_spec(planned)
        if differing := differences(declared, spec):
            raise Denied(
                f"manifest-mismatch: {planned.ref} of {planned.distribution} is not what its manifest says; "
                f"differing: {', '.join(differing)}",
                fix="do not use it until its author has mended it (for authors: strands plugin manifest --write)",
            )
        spec = declared
    return [_loaded(planned, raw, spec)]


def _loaded(planned: PlannedTool, raw: RawTool, spec: Mapping[str, Any]) -> LoadedTool:
    # The SDK drops a tool without a description in silence.
    return LoadedTool(
        planned, {**spec, "name": planned.name, "description": spec.get("description") or planned.name}, raw
    )


def declared_spec(planned: PlannedTool) -> dict[str, Any]:
    """Return the tool spec that the manifest (or the source, where there is none) declares."""
    record = planned.record
    assert record is not None  # noqa: S101 - callers looked
    spec = {
        "name": record.name,
        "description": record.description,
        "inputSchema": record.input_schema,
        "outputSchema": record.output_schema,
        "annotations": dict(record.annotations or {}),
        "strands_cli": dict(record.strands_cli or {}),
    }
    return normal_spec({name: value for name, value in spec.items() if value is not None})


def differences(declared: Mapping[str, Any], loaded: Mapping[str, Any]) -> list[str]:
    """Return where a loaded tool differs from its declaration in what safety depends on."""
    ours, theirs = declared["inputSchema"]["json"], loaded["inputSchema"]["json"]
    compared = {
        "properties": (sorted(ours.get("properties") or {}), sorted(theirs.get("properties") or {})),
        "required": (sorted(ours.get("required") or []), sorted(theirs.get("required") or [])),
        "annotations": (declared.get("annotations") or {}, loaded.get("annotations") or {}),
        "strands_cli": (declared.get("strands_cli") or {}, loaded.get("strands_cli") or {}),
    }
    return [name for name, (left, right) in compared.items() if left != right]
