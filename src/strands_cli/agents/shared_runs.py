"""What the runs of one process share: models with their connections, values of secrets, recordings, and limits."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path

from strands.models import Model

from strands_cli.agents.model.models import failure_to_close
from strands_cli.agents.model.plugin_models import filled_settings, maker_of, model_of
from strands_cli.agents.remote_secrets import all_secrets
from strands_cli.agents.run_models import SharedModel
from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.effects.provider_limits import UNLIMITED, ProviderLimits
from strands_cli.engine.ports.store_port import RunStore
from strands_cli.engine.stored_runs.opened_store import store_at
from strands_cli.errors import InvalidInput
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.planned_tools.tool_config import secrets_in
from strands_cli.planning.workflow_tools.tool_parts import all_workflows_in
from strands_cli.provider_table import known_provider
from strands_cli.providers import ModelSettings, value_at
from strands_cli.secrets.redactor import Redactor
from strands_cli.store_place import StorePlace
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.workflow.files.recording_file import Recording, load_recording
from strands_cli.yaml_files.file_source import FileSnapshot, stored_name


@dataclass(frozen=True, slots=True)
class PlanSecrets:
    """The values of a plan's secrets by the file of each workflow in it, and the redactor that hides them."""

    values: Mapping[str, Mapping[str, str]] = field(repr=False)
    redactor: Redactor


class SharedRuns:
    """Holds what runs of one event loop need only once; `app.shared_runs` makes it and closes it after them.

    Each run has its own tools, MCP servers, conversations and journal. A model whose settings a tool changes becomes
    the run's own.

    Attributes:
        budget: What all runs may spend together; None for no limit.
        provider_limits: How often they may ask each provider.
        worker: The id of the worker whose runs they are; empty for runs of no worker.
        retry: The words of the command that runs those of them again that failed; empty for runs of their own.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        provider_limits: ProviderLimits = UNLIMITED,
        worker: str = "",
        retry: Sequence[str] = (),
    ) -> None:
        self.budget = budget
        self.provider_limits = provider_limits
        self.worker = worker
        self.retry = retry
        self._models: dict[str, tuple[str, Model]] = {}
        self._recordings: dict[tuple[str, str], Recording] = {}
        self._stores: dict[StorePlace, RunStore] = {}
        self._secrets: dict[int, tuple[Plan, PlanSecrets]] = {}
        self._of_others: dict[int, bool] = {}

    async def know(self, plan: Plan) -> None:
        """Read the secrets of a plan for all runs of it and of its rows.

        Raises:
            NotEquipped: A secret has no value.
        """
        self._secrets[id(plan.spec)] = plan, await secrets_of(plan)

    async def secrets(self, plan: Plan) -> PlanSecrets:
        """Return the secrets of a plan; those of a plan that is not known are read now.

        Raises:
            NotEquipped: A secret has no value.
        """
        known = self._secrets.get(id(plan.spec))
        return known[1] if known is not None else await secrets_of(plan)

    def is_of_others(self, plan: Plan) -> bool:
        """Return `Trust.is_of_others` of a plan; that of a known plan and of its rows is found once."""
        key = id(plan.spec)
        if key not in self._secrets:
            return Trust.of(plan).is_of_others
        if key not in self._of_others:
            self._of_others[key] = Trust.of(plan).is_of_others
        return self._of_others[key]

    def model(
        self,
        settings: ModelSettings,
        secrets: Mapping[str, str],
        who: str,
        *,
        of_others: bool = False,
    ) -> SharedModel:
        """Return the model of some settings for one run; runs with the same ones share the object behind it.

        Args:
            who: Who asks it, for messages.
            of_others: Whether others wrote the host.

        Raises:
            NotEquipped: The provider's client cannot be loaded.
            InvalidInput: A setting is refused.
        """
        make = partial(model_of, settings, secrets, of_others=of_others)
        key = canonical_json([*astuple(filled_settings(settings, secrets)), maker_of(settings), of_others])
        if key not in self._models:
            self._models[key] = who, make()
        return SharedModel(self._models[key][1], make)

    def recording(self, path: Path, files: Mapping[str, str]) -> Recording:
        """Return a recording, from the files that a plan was made from.

        Raises:
            InvalidInput: It cannot be played.
        """
        key = str(path), files.get(stored_name(path), "")
        if key in self._recordings:
            return self._recordings[key]
        recording, findings = load_recording(FileSnapshot(texts=files).read(path))
        if recording is None:
            raise InvalidInput(f"the recording {path} cannot be played", findings=findings)
        if key[1]:
            self._recordings[key] = recording
        return recording

    def store_at(self, place: StorePlace) -> RunStore:
        """Return the open store of a place.

        Raises:
            RunRecordError: It cannot be opened.
        """
        if place not in self._stores:
            self._stores[place] = store_at(place)
        return self._stores[place]

    async def close(self) -> list[str]:
        """Close the stores, and the models' connections; return the failures, one line each."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        closed = [await failure_to_close(who, model) for who, model in self._models.values()]
        self._models.clear()
        return [problem for problem in closed if problem]


@contextlib.asynccontextmanager
async def opened_runs(
    plans: Sequence[Plan] = (),
    budget: Budget | None = None,
    provider_limits: ProviderLimits | None = None,
    warn: Callable[[str], None] | None = None,
    worker: str = "",
    retry: Sequence[str] = (),
) -> AsyncIterator[SharedRuns]:
    """Yield what runs share, and close it after them.

    Args:
        plans: Plans whose secrets are read now.
        warn: Receives a line for each connection that cannot be closed: what the runs did is valid all the same.
        worker: See `SharedRuns`, as for `retry`.

    Raises:
        NotEquipped: A secret of a plan has no value.
    """
    shared = SharedRuns(budget, provider_limits or UNLIMITED, worker, retry)
    try:
        for plan in plans:
            await shared.know(plan)
        yield shared
    finally:
        for problem in await shared.close():
            if warn is not None:
                warn(problem)


async def secrets_of(plan: Plan) -> PlanSecrets:
    """Return the values of the secrets of a plan and of the workflows in it.

    Raises:
        NotEquipped: A secret has no value.
    """
    plans = list({one.file: one for one in (*all_workflows_in(plan), plan)}.values())
    # In a thread: a program that prints a secret may be slow.
    values = {one.file: await asyncio.to_thread(all_secrets, one) if one.spec.env.secrets else {} for one in plans}
    redactor = Redactor(value for own in values.values() for value in own.values()).union(*map(redactor_of, plans))
    return PlanSecrets(values, redactor)


def redactor_of(plan: Plan) -> Redactor:
    """Return the redactor for providers' keys, also those in options, and for personal data if the workflow sets it."""
    written = set()
    for agent in plan.agents.values():
        provider = known_provider(agent.model.provider)
        place = provider.key_place if provider else None
        written.add(value_at(agent.model.options, place) if place else None)
    personal = plan.spec.security.guardrails.pii_redaction
    keys = Redactor((key for key in written if isinstance(key, str) and not secrets_in(key)), personal=personal)
    return Redactor.of_environment(os.environ).union(keys)
