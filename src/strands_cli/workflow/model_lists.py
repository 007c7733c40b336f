"""Models that a workflow lists, the first and those that go on in its place: by their providers and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from strands_cli.errors import Finding, UsageError, Where
from strands_cli.workflow.agent_sections import AgentSpec
from strands_cli.workflow.findings import BAD_VALUE, NO_EFFECT
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.sections import ModelEntry, Runtime
from strands_cli.yaml_files.document import Document, escape

Section = TypeVar("Section", Runtime, AgentSpec)
_OF_PROVIDER = ("region", "host", "options")
_SAMPLING = ("temperature", "top_p", "max_tokens")


class ModelLists:
    """Resolves the lists of a workflow: names to providers, and the first of `runtime.models` to the runtime's own.

    Args:
        aliases: The models of aliases when a run stored the workflow; they win over the user's of now.

    Attributes:
        used: The models of the aliases that the lists name.
        findings: The faults of the lists.
    """

    def __init__(self, document: Document, aliases: Mapping[str, str]) -> None:
        self._document = document
        self._aliases = aliases
        self.used: dict[str, str] = {}
        self.findings: list[Finding] = []

    def resolved(self, spec: WorkflowSpec) -> WorkflowSpec:
        """Return a workflow whose listed models have a provider, and whose runtime has the settings of its first."""
        runtime = spec.runtime
        if runtime.models:
            entries = self._named(runtime, "/runtime")
            first = entries[0].provider
            whole = tuple(_whole(entry, runtime, is_alike=entry.provider == first) for entry in entries)
            own = {name: getattr(whole[0], name) for name in ("provider", "model_id", *_OF_PROVIDER, *_SAMPLING)}
            runtime = runtime.model_copy(update={**own, "models": whole})
        agents = {
            name: agent.model_copy(update={"models": self._named(agent, f"/agents/{escape(name)}")})
            if agent.models
            else agent
            for name, agent in spec.agents.items()
        }
        return spec.model_copy(update={"runtime": runtime, "agents": agents})

    def _named(self, section: Section, pointer: str) -> tuple[ModelEntry, ...]:
        where = self._document.where(f"{pointer}/models", key=True)
        if section.provider or section.model_id:
            message = "`models` replaces `provider` and `model_id`"
            self.findings.append(Finding(BAD_VALUE, message, where, "make that model the first of `models`"))
        if "on" in section.models[0].model_fields_set:
            place = self._document.where(f"{pointer}/models/0/on", key=True)
            message = "`on` of the first model has no effect: it is asked first"
            self.findings.append(Finding(NO_EFFECT, message, place, "remove it", "warning"))
        return tuple(self._of_entry(entry, f"{pointer}/models/{n}") for n, entry in enumerate(section.models))

    def _of_entry(self, entry: ModelEntry, pointer: str) -> ModelEntry:
        """Return an entry with its provider; with a dummy where its name has a fault."""
        where = self._document.where(pointer)
        if (entry.model is None) == (entry.provider is None) or (entry.model and entry.model_id):
            message = "a model needs either `model` or `provider`, and `model_id` only beside `provider`"
            self.findings.append(Finding(BAD_VALUE, message, where, "write PROVIDER/MODEL, as openai/gpt-4.1-mini"))
            return entry.model_copy(update={"model": None, "provider": "replay"})
        if entry.model is None:
            return self._not_replayed(entry, where)
        if "${" in entry.model:  # is split when the variable has its value
            return entry.model_copy(update={"model": None, "provider": entry.model})
        provider, model_id = self._split(entry.model, where)
        return self._not_replayed(entry.model_copy(update={"provider": provider, "model_id": model_id}), where)

    def _split(self, name: str, where: Where) -> tuple[str, str | None]:
        from strands_cli.user_files.model_names import ModelNames, NamedModel, read_model_names

        try:
            if name in self._aliases or "/" not in name:
                names = ModelNames("", self._aliases) if name in self._aliases else read_model_names()
                named = names.resolve(name)
                self.used |= {name: str(named)} if name in names.aliases else {}
                return named
            return NamedModel.parse(name)
        except UsageError as error:
            self.findings.append(Finding(BAD_VALUE, error.message, where, error.fix))
            return "replay", None

    def _not_replayed(self, entry: ModelEntry, where: Where) -> ModelEntry:
        if entry.provider == "replay" and not self.findings:
            message = "a recording cannot go on for another model"
            fix = "write `provider: replay` in place of `models`, or name a live model"
            self.findings.append(Finding(BAD_VALUE, message, where, fix))
        return entry


def _whole(entry: ModelEntry, runtime: Runtime, *, is_alike: bool) -> ModelEntry:
    """Return an entry with the runtime's settings; those of a provider are for models of the first's only."""
    names = (*_SAMPLING, *(_OF_PROVIDER if is_alike else ()))
    written = {name: getattr(entry, name) for name in names}
    update: dict[str, Any] = {
        name: getattr(runtime, name) if value is None else value for name, value in written.items()
    }
    return entry.model_copy(update={"options": entry.options or {}, **update})
