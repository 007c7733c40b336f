"""The models of one run: those that it shares with others until it changes their settings, and its recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from strands.models import Model

from strands_cli.agents.model.models import failure_to_close
from strands_cli.agents.model.replay import ReplayModel
from strands_cli.planning.plan.plan_values import PlannedAgent
from strands_cli.workflow.files.recording_file import Recording


class SharedModel(Model):
    """The model of one agent in one run: an object of many runs, and one of the run's own once a tool changes it.

    Args:
        model: The object that the run shares.
        make: Makes one with the same settings.
    """

    def __init__(self, model: Model, make: Callable[[], Model]) -> None:
        self._model = model
        self._make: Callable[[], Model] | None = make

    @property
    def own(self) -> Model | None:
        """The object that only this run has; None while it has none."""
        return self._model if self._make is None else None

    @property
    def stateful(self) -> bool:
        """Whether the model stores the conversation on its server."""
        return self._model.stateful

    @property
    def context_window_limit(self) -> int | None:
        """The model's context window, in tokens."""
        return self._model.context_window_limit

    def get_config(self) -> Any:
        """Return the model's configuration."""
        return self._model.get_config()

    def update_config(self, **model_config: Any) -> None:
        """Change the model's configuration, for this run only."""
        if self._make is not None:
            self._model, self._make = self._make(), None
        self._model.update_config(**model_config)

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        """Return the model's count."""
        return await self._model.count_tokens(*args, **kwargs)

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the model returns."""
        return self._model.structured_output(*args, **kwargs)

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        """Return the model's stream."""
        return self._model.stream(*args, **kwargs)


class RunModels:
    """Gives the model for an agent's step: one for each agent of the run, or the turns of a recording for the step.

    Args:
        live: The models of agents that ask a provider.
        recordings: The recordings of the others, by path.
        below: Whether the workflow is a tool, so that its recordings have its keys without the prefix of the call.
    """

    def __init__(
        self, live: Mapping[str, SharedModel], recordings: Mapping[str, Recording], *, below: bool = False
    ) -> None:
        self._live = live
        self._recordings = recordings
        self._below = below

    def __call__(self, agent: PlannedAgent, key: str) -> Model:
        """Return the model of an agent for the step with this key."""
        if agent.model.provider != "replay":
            return self._live[agent.id]
        steps, known = self._recordings[str(agent.recording)].steps, key
        while self._below and known not in steps and "/" in known:
            known = known.partition("/")[2]
        return ReplayModel(steps.get(known, ()), key)

    async def close(self) -> list[str]:
        """Close the models that only this run has; return the failures, one line each."""
        own = {name: model.own for name, model in self._live.items()}
        closed = [await failure_to_close(name, model) for name, model in own.items() if model is not None]
        return [problem for problem in closed if problem]
