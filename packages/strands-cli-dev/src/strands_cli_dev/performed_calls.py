"""Calls that a rehearsal does not make: concurrent, cancelled, with bad input, by an agent; checks yield problems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from strands_cli.api import CallOutcome, LoadedPlugin, StrandsCliError, load_plugin, run_to_answer, shortened
from strands_cli_dev.rehearsal import PluginSettings, Prepare, Scene, watched, workspace
from strands_cli_dev.tool_checks import bad_inputs, check_json, check_shape

AT_ONCE = 8
MAX_BAD_INPUTS = 20
Play = Callable[[LoadedPlugin, Path], Any]


def check_same(scene: Scene) -> Iterator[str]:
    """Compare the second call of a scene with the first."""
    first, second = scene.first, scene.second
    if second.in_shape and first.value["status"] != second.value["status"]:
        yield f"{scene.title} returned {first.value['status']}, and the second time {second.value['status']}"
    elif second.answered and not second.in_shape:
        yield f"{scene.title} returned a result, and the second time {type(second.value).__name__}"


def check_concurrent(plugin: Any, settings: PluginSettings, prepare: Prepare, scenes: Sequence[Scene]) -> Iterator[str]:
    """Make the calls of all scenes at once, several times each, and compare each answer with that of the call alone.

    Only calls that answer the same shortly before and shortly after, in the same workspace, are compared: the time or
    the age of a file may differ.
    """
    calls = [*scenes] * max(2, AT_ONCE // max(1, len(scenes)))

    async def play(plugin: LoadedPlugin, folder: Path) -> list[list[CallOutcome]]:
        before = [await plugin.call(_call(scene), "before", folder) for scene in scenes]
        together = [plugin.call(_call(scene), f"use-{number}", folder) for number, scene in enumerate(calls)]
        outcomes = list(await asyncio.gather(*together))
        return [before, outcomes, [await plugin.call(_call(scene), "after", folder) for scene in scenes]]

    before, outcomes, after = _played(plugin, settings, prepare, play) if scenes else ([], [], [])
    for number, (scene, outcome) in enumerate(zip(calls, outcomes, strict=True)):
        single_answers = {repr(_content(every[number % len(scenes)])) for every in (before, after)}
        problem = _mixed(scene, outcome, f"use-{number}", single_answers)
        if problem is not None:
            yield f"{scene.title}, one of {len(calls)} calls at once, {problem}"


def _mixed(scene: Scene, outcome: CallOutcome, tool_use_id: str, single_answers: set[str]) -> str | None:
    """Return the fault of one of several concurrent calls; `single_answers` are those of that call alone."""
    if outcome.raised is not None:
        return f"raised {type(outcome.raised).__name__}: {outcome.raised}"
    if outcome.late:
        return "did not answer in time"
    shape = next(check_shape(outcome.value, tool_use_id), None)
    if shape is not None:
        return None if _wrong_anyway(scene) else f"did not return a result: {shape}"
    if len(single_answers) == 1 and repr(_content(outcome)) not in single_answers:
        return f"answered {_short_content(outcome.value)}, and alone {next(iter(single_answers))[:200]}"
    return None


def _content(outcome: CallOutcome) -> Any:
    return outcome.value["content"] if outcome.in_shape else None


def _wrong_anyway(scene: Scene) -> bool:
    return next(check_shape(scene.first.value, "use-1"), None) is not None


def cancelled(plugin: Any, settings: PluginSettings, prepare: Prepare, scenes: Sequence[Scene]) -> Iterator[str]:
    """Cancel the call of each tool's first scene and make it again."""
    for scene in {scene.tool: scene for scene in reversed(scenes)}.values():

        async def play(plugin: LoadedPlugin, folder: Path, scene: Scene = scene) -> tuple[bool, CallOutcome]:
            ended = await plugin.cancel(_call(scene), "use-1", folder)
            return ended, await plugin.call(_call(scene), "use-2", folder) if ended else CallOutcome()

        ended, again = _played(plugin, settings, prepare, play)
        if not ended:
            yield f"{scene.title} continues after it was cancelled"
        elif again.raised is not None or again.late:
            failure = (
                "did not answer in time" if again.late else f"raised {type(again.raised).__name__}: {again.raised}"
            )
            yield f"{scene.title} {failure} after an earlier call was cancelled"


def refusals(plugin: Any, settings: PluginSettings, prepare: Prepare, scenes: Sequence[Scene]) -> Iterator[str]:
    """Call each tool with inputs that its schema refuses."""

    async def play(plugin: LoadedPlugin, folder: Path) -> list[tuple[str, CallOutcome]]:
        refused_calls = []
        for scene in {scene.tool: scene for scene in reversed(scenes)}.values():
            bad = list(bad_inputs(plugin.tools[scene.tool], scene.example.input))[:MAX_BAD_INPUTS]
            refused_calls += [(f"{scene.tool} {kind}", (scene.tool, value)) for kind, value in bad]
        return [(title, await plugin.call(call, "use-1", folder)) for title, call in refused_calls]

    for title, outcome in _played(plugin, settings, prepare, play):
        if outcome.raised is not None:
            yield f"{title} raised {type(outcome.raised).__name__}: {outcome.raised}"
        elif outcome.late:
            yield f"{title} did not answer in time"
        elif not outcome.in_shape:
            yield f"{title} answered {type(outcome.value).__name__}, which is not a result"
        elif outcome.value["status"] != "error":
            yield f"{title} returned {outcome.value['status']}: {_short_content(outcome.value)}"


def results_by_agent(plugin: Any, settings: PluginSettings, prepare: Prepare, scenes: Sequence[Scene]) -> Iterator[str]:
    """Let an agent of strands-cli make the calls of all scenes in one turn."""
    right = [scene for scene in scenes if not any(check_json(scene.first.value))]
    yield from _by_agent(plugin, settings, prepare, right, lambda loaded, at: loaded.call_by_agent(_calls(right), at))


def results_by_plain_agent(
    plugin: Any, settings: PluginSettings, prepare: Prepare, scenes: Sequence[Scene]
) -> Iterator[str]:
    """Let a plain Strands agent make the calls of all scenes in one turn."""
    right = [scene for scene in scenes if not _wrong_anyway(scene)]
    yield from _by_agent(plugin, settings, prepare, right, lambda loaded, _: loaded.call_by_plain_agent(_calls(right)))


def _by_agent(
    plugin: Any, settings: PluginSettings, prepare: Prepare, scenes: Sequence[Scene], play: Play
) -> Iterator[str]:
    try:
        results = _played(plugin, settings, prepare, play) if scenes else []
    except StrandsCliError as error:
        yield f"the agent stopped: {error}"
        return
    except Exception as error:  # noqa: BLE001 - the SDK's loop raises for answers that it cannot use
        yield f"the agent's loop failed: {type(error).__name__}: {error}"
        return
    if len(results) != len(scenes):
        yield f"the agent made {len(scenes)} calls and got {len(results)} results"
        return
    for number, (scene, result) in enumerate(zip(scenes, results, strict=True)):
        yield from (f"{scene.title}: {it}" for it in check_shape(result, f"call.1.{number}"))
        if result.get("status") != scene.first.value["status"]:
            yield f"{scene.title} returned {result.get('status')}: {_short_content(result)}"


def _played(plugin: Any, settings: PluginSettings, prepare: Prepare, play: Play) -> Any:
    """Load the plugin again, let `play` use it in a fresh workspace, and close it."""

    async def work() -> Any:
        loaded = await load_plugin(plugin, config=settings.config, secrets=settings.secrets)
        try:
            return await play(loaded, path)
        finally:
            await loaded.close()

    with workspace(prepare) as path, watched():
        return run_to_answer(work())


def _call(scene: Scene) -> tuple[str, Mapping[str, Any]]:
    return scene.tool, dict(scene.example.input)


def _calls(scenes: Sequence[Scene]) -> list[tuple[str, Mapping[str, Any]]]:
    return [_call(scene) for scene in scenes]


def _short_content(result: Mapping[str, Any]) -> str:
    return shortened(repr(result.get("content")), 200)
