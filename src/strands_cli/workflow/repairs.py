"""A workflow as far as it can be read in spite of mistakes in its form, so that they hide no other mistakes."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from strands_cli.errors import did_you_mean
from strands_cli.workflow.checks import CONCURRENT_MEMORY, UNDECLARED_VARIABLE, UNUSED_AGENT
from strands_cli.workflow.files import BAD_RECORDING
from strands_cli.workflow.findings import (
    DUPLICATE_ID,
    MISSING_KEY,
    NO_EFFECT,
    UNKNOWN_AGENT,
    UNKNOWN_NAME,
    UNKNOWN_SERVER,
)
from strands_cli.workflow.loaded import Repairs
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns import (
    EDGE_FORM,
    MISSING_DEPENDENCY,
    NO_ELSE,
    TASK_CYCLE,
    UNKNOWN_NODE,
    UNKNOWN_ROUTE,
    UNKNOWN_TASK,
    UNREACHABLE_NODE,
)
from strands_cli.workflow.validation_errors import (
    STEP_WORDS,
    counts_failed_items,
    keys_at,
    meant_key,
    meant_pattern,
    pointer_of,
    value_at,
)
from strands_cli.workflow.yaml import escape

_ROUNDS = 12
_UNNAMED = "unnamed"
# What replaces a value that is required, by its key; what these lack is added in the next round.
_REQUIRED: Mapping[str, Any] = {
    "version": 1,
    "name": _UNNAMED,
    "runtime": {"provider": "replay"},
    "provider": "replay",
    "pattern": {"type": "chain", "config": {}},
    "config": {},
    "id": _UNNAMED,
    "key": "UNNAMED",
    "prompt": "",
    "description": "-",
    "tool": "agent:-",
    "base_url": "http://localhost",
    "path": _UNNAMED,
    "file": _UNNAMED,
    "from": _UNNAMED,
    "when": "else",
    "to": _UNNAMED,
    "min_score": 0,
    "max_messages": 1,
    "accept": {"min_score": 0},
    "branches": [{"id": "first"}, {"id": "second"}],
    "tasks": [{"id": _UNNAMED}],
    "agents": {_UNNAMED: {"prompt": ""}},
}
_STEPS = ("steps", "nodes", "routes", "producer", "evaluator", "orchestrator", "worker_template", "router")

_PARTS = (
    "steps|nodes|edges|routes|tasks|branches|router|producer|evaluator|orchestrator|worker_template|config|type|reduce|then"
    r"|writeup|review_gate|\w+_review|review_router|id|agent|tool|from|to|choose|deps"
)
# Codes about relations between parts, by the pointer of a part: they are untrue where another value replaces the part.
_UNTRUE = {
    r"/agents": (UNKNOWN_AGENT, UNUSED_AGENT),
    r"/agents/[^/]+(/tools.*)?": (UNUSED_AGENT,),
    r"/agents/[^/]+/\$ref": (MISSING_KEY,),
    r"/inputs(/required|/optional|/values)?|/tools/composite.*|/pattern.*/vars": (UNDECLARED_VARIABLE,),
    r"/env/secrets.*": (NO_EFFECT,),
    r"/tools.*": (UNKNOWN_SERVER, UNUSED_AGENT),
    rf"/pattern(.*/(\d+|(nodes|routes)/[^/]+|{_PARTS}))?": (
        *(UNUSED_AGENT, UNKNOWN_NAME, UNKNOWN_NODE, UNREACHABLE_NODE, UNKNOWN_TASK, UNKNOWN_ROUTE),
        *(TASK_CYCLE, MISSING_DEPENDENCY, NO_ELSE, DUPLICATE_ID, CONCURRENT_MEMORY, EDGE_FORM, BAD_RECORDING),
    ),
}

Validate = Callable[[Any], tuple[WorkflowSpec | None, list[Any]]]


def repaired(value: Any, errors: list[Any], validate: Validate) -> tuple[WorkflowSpec | None, Any, Repairs]:
    """Return a workflow without its mistakes, its document, and what was repaired; None if it cannot be read at all.

    A mistyped key is read as the key that it means. A value of another form is left out or replaced.

    Args:
        value: The document; it is not changed.
        errors: Those of its validation.
        validate: Validates the document again.
    """
    if not isinstance(value, dict):
        return None, value, Repairs()
    repair = _Repair(copy.deepcopy(value))
    for _ in range(_ROUNDS):
        # Mistyped keys first: the keys that they mean are then not missing.
        for error in sorted(errors, key=lambda error: error["type"] not in ("unknown_key", "extra_forbidden")):
            if not counts_failed_items(error):
                repair.apply(error)
        spec, errors = validate(repair.value)
        if spec is not None:
            return spec, repair.value, repair.done()
    return None, value, Repairs()


@dataclass(slots=True)
class _Repair:
    """A copy of a document's value, which is repaired until it is a workflow."""

    value: Any
    replaced: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)

    def done(self) -> Repairs:
        """Return what was repaired."""
        absent = frozenset(self.replaced - set(self.renamed.values()))
        parts = [codes for part, codes in _UNTRUE.items() if any(re.fullmatch(part, place) for place in absent)]
        untrue = frozenset(code for codes in parts for code in codes)
        return Repairs(absent, frozenset(self.filled), untrue, self.renamed)

    def apply(self, error: Any) -> None:
        """Repair the place of one error."""
        pointer, is_exact = pointer_of(error["loc"], self.value)
        if error["type"] == "unknown_key":
            self._rename(pointer, error["ctx"]["key"], keys_at(WorkflowSpec, error["loc"]))
        elif error["type"] == "extra_forbidden" and is_exact:
            holder, key = _split(pointer)
            self._rename(holder, key, keys_at(WorkflowSpec, error["loc"][:-1]))
        elif error["type"] == "empty_list":
            self._replace(f"{pointer}/{error['ctx']['key']}")
        elif error["type"] == "missing":
            if not is_exact:
                self._replace(f"{pointer}/{escape(error['loc'][-1])}")
        elif pointer == "/pattern" and (meant := meant_pattern(value_at(self.value, pointer))):
            self.value["pattern"]["type"] = meant
        elif error["type"] != "union_tag_not_found" or not self._rename_word_of_step(pointer):
            self._replace(pointer)

    def _rename(self, pointer: str, key: str, known: set[str]) -> None:
        """Give a key its right name, or remove one that means nothing."""
        holder = value_at(self.value, pointer)
        if key not in holder:
            return
        meant, value = meant_key(key, known, holder), holder.pop(key)
        self.replaced.add(f"{pointer}/{escape(key)}")
        if meant is not None and meant not in holder:
            holder[meant] = value
            self.renamed[f"{pointer}/{escape(meant)}"] = f"{pointer}/{escape(key)}"

    def _rename_word_of_step(self, pointer: str) -> bool:
        step = value_at(self.value, pointer)
        if pointer == "/pattern" or not isinstance(step, dict):
            return False
        key = next((key for key in step if did_you_mean(key, STEP_WORDS)), None)
        if key is not None:
            self._rename(pointer, key, set(STEP_WORDS))
        return key is not None

    def _replace(self, pointer: str) -> None:
        """Put a value that fits to a pointer; if that was in vain, to the nearest place above."""
        while pointer and pointer in self.replaced:
            pointer = pointer.rpartition("/")[0]
        if not pointer:
            return
        self.replaced.add(pointer)
        place, key = _split(pointer)
        holder, section = value_at(self.value, place), place.rpartition("/")[2]
        if isinstance(holder, list):
            holder[int(key)] = self._fitting_value(section.removesuffix("s"), section, holder[int(key)])
        elif (fitting := self._fitting_value(key, section, holder.get(key))) is not None:
            holder[key] = fitting
            self.filled.add(place)
        else:
            holder.pop(key, None)

    def _fitting_value(self, key: str, section: str, old: Any) -> Any:
        """Return what fits to a key or to an item of a section; None where nothing has to be."""
        if section in ("required", "optional"):
            return "string"
        if section == "agents":
            return {"prompt": ""}
        if key == "agent":
            return next(iter(self._agents()), _UNNAMED)
        if section in ("steps", "nodes", "routes"):
            return self._step(old)
        if section in ("tasks", "branches", "mcp", "http_executors", "composite"):
            return {"id": old["id"]} if isinstance(old, dict) and isinstance(old.get("id"), str) else {"id": _UNNAMED}
        if key in _STEPS:
            step = self._step(old)
            return [step] if key == "steps" else {_UNNAMED: step} if key in ("nodes", "routes") else step
        return copy.deepcopy(_REQUIRED.get(key))

    def _step(self, old: Any) -> dict[str, Any]:
        agent = old.get("agent") if isinstance(old, dict) else None
        return {"agent": agent if isinstance(agent, str) else next(iter(self._agents()), _UNNAMED)}

    def _agents(self) -> list[str]:
        agents = self.value.get("agents")
        return [str(name) for name in agents] if isinstance(agents, dict) else []


def _split(pointer: str) -> tuple[str, str]:
    holder, _, token = pointer.rpartition("/")
    return holder, token.replace("~1", "/").replace("~0", "~")
