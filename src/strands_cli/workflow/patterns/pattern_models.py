"""The patterns by name: the core's, one file each here, and those of distributions; imported where one is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from strands_cli.default_parts import DEFAULTS
from strands_cli.default_parts import PATTERNS as GROUP
from strands_cli.parts.named_parts import NamingFolder, Part, broken_part, imported_part, names_in, part_named
from strands_cli.workflow.pattern_model import COMMON_NAMES, YIELDING, PatternModel
from strands_cli.workflow.sections import read_when_met

_REVIEW = ("draft", "current_draft", "evaluation", "current_evaluation", "iteration", "iteration_index", "iterations")
_WORK = ("orchestrator_response", "subtasks", "task_count", "round_count", "workers", "num_workers", "worker_count")
# Names that the templates of the core's patterns may use and that inputs should not have.
_RESERVED = {
    "workflow": ("tasks",),
    "routing": ("router", "chosen_route"),
    "parallel": ("branches",),
    "evaluator_optimizer": (*_REVIEW, "final_score"),
    "orchestrator_workers": (*_WORK, "reduce_response"),
    "graph": ("nodes", "terminal_node"),
}


class _Patterns(Mapping[str, type[PatternModel]]):
    """The models of patterns by name: the core's, and those of distributions that a workflow has named.

    A workflow has one pattern, and a model takes a hundredth of a cold command.

    Attributes:
        has_changed: Whether a pattern was learned or forgotten since the model of a workflow was built.
    """

    def __init__(self) -> None:
        self.has_changed = False
        self._models: dict[str, type[PatternModel]] = {}
        self._learned: list[str] = []
        self._reserved: frozenset[str] | None = None

    def __getitem__(self, name: str) -> type[PatternModel]:
        if name not in self._models:
            module, _, attribute = DEFAULTS[GROUP][name].partition(":")
            self._models[name] = getattr(importlib.import_module(module), attribute)
        return self._models[name]

    def __contains__(self, name: object) -> bool:
        return name in DEFAULTS[GROUP] or name in self._learned

    def __iter__(self) -> Iterator[str]:
        return iter((*DEFAULTS[GROUP], *self._learned))

    def __len__(self) -> int:
        return len(DEFAULTS[GROUP]) + len(self._learned)

    def installed(self) -> tuple[str, ...]:
        """Return every name, also those of installed distributions' patterns; no pattern is imported."""
        return names_in(GROUP)

    def learn(self, name: str, folder: Path | None = None) -> None:
        """Import the pattern of an installed distribution that a workflow names.

        Policy and the lock are asked each time. A name of the core is left alone, one of nothing installed forgotten.

        Args:
            folder: Where the workflow is, whose lock is asked; the current directory by default.

        Raises:
            Denied: Its owner is not certain, policy denies it, or it is not as it was locked.
            NotEquipped: It cannot be imported, or is not a pattern.
        """
        if name in DEFAULTS[GROUP]:
            return
        part = part_named(GROUP, name)
        model = _imported(part, folder) if part is not None else None
        if self._models.get(name) is model:
            return
        self._learned = [pattern for pattern in self._learned if pattern != name]
        self._models.pop(name, None)
        if model is not None:
            self._learned.append(name)
            self._models[name] = model
        self._reserved = None
        self.has_changed = True

    def reserved(self) -> frozenset[str]:
        """Return the names that the templates of any pattern may use."""
        if self._reserved is None:
            own = {name for names in _RESERVED.values() for name in names}
            self._reserved = frozenset(own.union(*(self._models[name].reserved for name in self._learned)))
        return self._reserved


def _imported(part: Part, folder: Path | None) -> type[PatternModel]:
    model = imported_part(part, lock=NamingFolder(folder) if folder is not None else None)
    if not (isinstance(model, type) and issubclass(model, PatternModel)):
        raise broken_part(part, "is not a subclass of PatternModel")
    if not hasattr(model, "runs"):
        raise broken_part(part, "does not say what runs it (`runs`)")
    return model


PATTERNS = _Patterns()


class _OneOfPatterns:
    """Validates a pattern as the model that `PATTERNS` has for its `type`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # Not their schemas, which would build the validators of all of them.
        choices: dict[Any, Any] = {
            tag_of(name): read_when_met(partial(PATTERNS.__getitem__, name)) for name in PATTERNS
        }
        # A union would look for the model that fits a value again, and take derived values of a model for fields.
        return core_schema.tagged_union_schema(choices, _tag, serialization=core_schema.simple_ser_schema("any"))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        tagged = tuple(Annotated[model, Tag(tag_of(name))] for name, model in PATTERNS.items())
        union: Any = Annotated[Union[tagged], Discriminator(_tag)]  # noqa: UP007
        return handler(TypeAdapter[Any](union).core_schema)


Pattern = Annotated[PatternModel, _OneOfPatterns()]


def tag_of(name: str) -> str:
    """Return how the location of a validation error names a pattern."""
    return f"<{name}>"


def _tag(value: Any) -> str | None:
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return tag_of(name) if isinstance(name, str) and name in PATTERNS else None


def reserved_names() -> frozenset[str]:
    """Return the names that templates give a meaning somewhere, so that an input should not have them."""
    return COMMON_NAMES.union(YIELDING, PATTERNS.reserved())


def hiding_names() -> frozenset[str]:
    """Return those of the reserved names that win over an input."""
    return reserved_names() - YIELDING
