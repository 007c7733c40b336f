"""A workflow as far as it can be read in spite of mistakes in its form, so that they hide no other mistakes."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from strands_cli.errors import Finding, did_you_mean
from strands_cli.workflow.checks.check_pattern import CONCURRENT_MEMORY, LOST_CONVERSATION, UNUSED_AGENT
from strands_cli.workflow.checks.check_workflow import PRINTS_NONE, UNDECLARED_VARIABLE
from strands_cli.workflow.findings import (
    DUPLICATE_ID,
    MISSING_KEY,
    NO_EFFECT,
    UNKNOWN_AGENT,
    UNKNOWN_NAME,
    UNKNOWN_SECRET,
    UNKNOWN_SERVER,
)
from strands_cli.workflow.key_meanings import Loc, meant_at, meant_key, meant_pattern, mistyped_type, section_of
from strands_cli.workflow.model import Repairs, WorkflowSpec
from strands_cli.workflow.patterns.graph import NO_ELSE, UNKNOWN_NODE, UNREACHABLE_NODE
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from strands_cli.workflow.patterns.routing import UNKNOWN_ROUTE
from strands_cli.workflow.patterns.workflow import MISSING_DEPENDENCY, UNKNOWN_TASK
from strands_cli.workflow.recording_file import BAD_RECORDING
from strands_cli.workflow.sections import Inputs, InputSpec, type_word_of
from strands_cli.workflow.templates.given_values import AbsentInput, given_value
from strands_cli.workflow.validation_errors import (
    STEP_WORDS,
    counts_failed_items,
    few_of,
    findings_of,
    first_findings_of,
    pointer_of,
    value_at,
)
from strands_cli.yaml_files.document import Document, escape

# Inputs as `keep_texts` and `absent` have them: texts that stay texts, and undefined optional inputs.


class _KeptText(InputSpec):
    """An input whose text must read as its type, and stays as it is."""

    def coerced(self, value: Any) -> Any:
        """Return a text as it is, and any other value as its declared type."""
        typed = super().coerced(value)
        return value if isinstance(value, str) else typed


class _GivenInputs(Inputs):
    """The variables of a run, which its templates see as they were given."""

    def read_fixed(self, name: str, text: str) -> Any:
        """Return a text that replaces a fixed value: as it is with `keep_texts`."""
        return text if self.keep_texts else super().read_fixed(name, text)

    def names_of(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values as templates see them."""
        types = {name: type_word_of(value) for name, value in self.values.items() if value is not None}
        types |= {name: input_spec.type for name, input_spec in self.declared().items()}
        return {name: self._template_value(name, value, types.get(name, "string")) for name, value in values.items()}

    def _template_value(self, name: str, value: Any, word: str) -> Any:
        if value is None and name in self.optional and self.absent == "undefined":
            return AbsentInput(name=name)
        return given_value(value, word) if isinstance(value, str) and self.keep_texts else value


def as_given(inputs: Inputs) -> Inputs:
    """Return the inputs of a workflow, changed by their `keep_texts` and `absent`."""
    fields = {name: getattr(inputs, name) for name in type(inputs).model_fields}
    if inputs.keep_texts:
        fields["required"] = {name: _kept(input_spec) for name, input_spec in inputs.required.items()}
        fields["optional"] = {name: _kept(input_spec) for name, input_spec in inputs.optional.items()}
    return _GivenInputs.model_construct(inputs.model_fields_set, **fields)


def _kept(input_spec: InputSpec) -> InputSpec:
    if type(input_spec) is not InputSpec:  # one that a schema describes
        return input_spec
    fields = {name: getattr(input_spec, name) for name in InputSpec.model_fields}
    return _KeptText.model_construct(input_spec.model_fields_set, **fields)


_ROUNDS = 12
_UNNAMED = "unnamed"
# The replacement of a required value, by its key; values that these lack are added in the next round.
_REQUIRED: Mapping[str, Any] = {
    "version": 2,
    "name": _UNNAMED,
    "runtime": {"provider": "replay"},
    "provider": "replay",
    "pattern": {"type": "chain", "config": {}},
    "config": {},
    "id": _UNNAMED,
    "key": "UNNAMED",
    "prompt": "-",
    "description": "-",
    "tool": "agent:-",
    "base_url": "http://localhost",
    "path": _UNNAMED,
    "file": _UNNAMED,
    "from": _UNNAMED,
    "when": "true",
    "to": _UNNAMED,
    "min_score": 0,
    "max_messages": 1,
    "accept": {"min_score": 0},
    "branches": [{"id": "first"}, {"id": "second"}],
    "tasks": [{"id": _UNNAMED, "tool": "agent:-"}],
    "agents": {_UNNAMED: {"prompt": ""}},
}
_ROLES = ("router", "evaluator", "orchestrator", "worker_template", "reduce", "writeup")
_LISTS_OF_MAPPINGS = ("edges", "choose", "artifacts", "secrets")
_STEPS = ("steps", "nodes", "routes", "evaluator", "orchestrator", "worker_template", "router")

# Codes about relations between parts, by the pointer of a part: they are untrue where another value replaces the part.
_UNTRUE = {
    r"/agents": (UNKNOWN_AGENT, UNUSED_AGENT),
    r"/agents/[^/]+(/tools.*)?": (UNUSED_AGENT,),
    r"/agents/[^/]+/\$ref": (MISSING_KEY,),
    r"/inputs(/required|/optional|/values)?|/tools/composite.*|/pattern.*/vars": (UNDECLARED_VARIABLE,),
    r"/inputs/optional.+": (PRINTS_NONE,),
    r"/env(/secrets.*)?": (NO_EFFECT, UNKNOWN_SECRET),
    r"/tools.*": (UNKNOWN_SERVER, UNUSED_AGENT),
    r"/(pattern|agents|version|context_policy).*": (LOST_CONVERSATION,),
    r"/pattern(/type|/config(/(steps|nodes|routes|tasks|branches))?)?": (
        *(UNUSED_AGENT, UNKNOWN_NAME, UNKNOWN_NODE, UNREACHABLE_NODE, UNKNOWN_TASK, UNKNOWN_ROUTE),
        *(MISSING_DEPENDENCY, DUPLICATE_ID, CONCURRENT_MEMORY, BAD_RECORDING),
    ),
    r"/pattern/config/(tasks|branches)/\d+/id": (UNKNOWN_NAME, UNKNOWN_TASK, MISSING_DEPENDENCY, BAD_RECORDING),
    r"/pattern/config/(reduce|writeup|review_gate|\w+_review|router/review_router)": (UNKNOWN_NAME, BAD_RECORDING),
    r"/pattern/config/tasks/\d+(/deps(/\d+)?)?": (MISSING_DEPENDENCY, CONCURRENT_MEMORY),
    r"/pattern/config/edges.*": (UNREACHABLE_NODE, CONCURRENT_MEMORY),
    r"/pattern/config/edges/.*/when": (NO_ELSE,),
    r"/pattern/config/(?!edges).*": (UNUSED_AGENT, CONCURRENT_MEMORY),
}

Validate = Callable[[Any], tuple[WorkflowSpec | None, list[Any]]]


def repaired(
    document: Document, errors: list[Any], validate: Validate
) -> tuple[WorkflowSpec | None, Document, Repairs, list[Finding]]:
    """Return a workflow without its mistakes, its document, the repairs, and the mistakes.

    A mistyped key is read as the key that it means; mistakes in its value show only then. A value of another form is
    left out or replaced. The workflow is None if it cannot be read at all.

    Args:
        document: The document; it is not changed.
        validate: Validates the document again.
    """
    findings = list(first_findings_of(errors, WorkflowSpec, document))
    errors, omitted = few_of(errors)
    if omitted:
        return None, document, Repairs(), findings
    if not isinstance(document.value, dict):
        return None, document, Repairs(), findings
    repair = _Repair(copy.deepcopy(document.value))
    for _ in range(_ROUNDS):
        # Mistyped keys first: the keys that they mean are then not missing.
        for error in sorted(errors, key=lambda error: error["type"] not in ("unknown_key", "extra_forbidden")):
            if not counts_failed_items(error):
                repair.apply(error)
        spec, errors = validate(repair.value)
        now = replace(document, value=repair.value, aliases={**document.aliases, **repair.renamed})
        if spec is not None:
            return spec, now, repair.done(), findings
        new_findings = findings_of(repair.newly_seen(errors), WorkflowSpec, now)
        findings += filter(None, map(Repairs(renamed=repair.renamed).as_written, new_findings))
    return None, document, Repairs(), findings


@dataclass(slots=True)
class _Repair:
    """A copy of a document's value, repaired until it is a workflow."""

    value: Any
    replaced: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    revealed: set[str] = field(default_factory=set)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def newly_seen(self, errors: list[Any]) -> list[Any]:
        """Return the errors in values that could not be looked at before their keys, or their pattern, were known."""
        new_errors = []
        for error in errors:
            pointer, _ = pointer_of(error["loc"], self.value)
            error_key = (pointer, error["type"])
            ours = self.replaced - set(self.renamed.values())
            is_new = error_key not in self.seen and not _is_below(pointer, ours)
            if is_new and _is_below(pointer, {*self.renamed, *self.revealed}):
                new_errors.append(error)
            self.seen.add(error_key)
        return new_errors

    def done(self) -> Repairs:
        """Return the repairs."""
        absent = frozenset(self.replaced - set(self.renamed.values()))
        parts = [codes for part, codes in _UNTRUE.items() if any(re.fullmatch(part, pointer) for pointer in absent)]
        untrue = frozenset(code for codes in parts for code in codes)
        return Repairs(absent, frozenset(self.filled), untrue, self.renamed)

    def apply(self, error: Any) -> None:
        """Repair the place of one error."""
        pointer, is_exact = pointer_of(error["loc"], self.value)
        if error["type"] == "unknown_key":
            self._rename(pointer, error["ctx"]["key"], error["loc"])
        elif error["type"] == "extra_forbidden" and is_exact:
            holder, key = _split(pointer)
            self._rename(holder, key, error["loc"][:-1])
        elif (error["type"] == "tuple_type" and self._list(pointer)) or (
            error["type"] in ("mapping_type", "dict_type", "model_type") and self._mapping(pointer)
        ):
            return
        elif error["type"] == "literal_error" and (only := _only_word(error)):
            parent, key = _split(pointer)
            value_at(self.value, parent)[key] = only
            if not (isinstance(error["input"], str) and did_you_mean(error["input"], [only])):
                self.replaced.add(pointer)
        elif error["type"] == "empty_list":
            self._replace(f"{pointer}/{error['ctx']['key']}")
        elif error["type"] == "missing":
            if not is_exact:
                self._replace(f"{pointer}/{escape(error['loc'][-1])}")
        elif pointer == "/pattern" and (typo := mistyped_type(self.value["pattern"])):
            self._rename(pointer, typo, (), frozenset({"type"}))
            self.revealed.add(pointer)
        elif pointer == "/pattern" and (pattern_name := meant_pattern(value_at(self.value, pointer))) in PATTERNS:
            self.value["pattern"]["type"] = pattern_name
            self.revealed.add(pointer)
        elif error["type"] != "union_tag_not_found" or not self._give_form(pointer):
            self._replace(pointer)

    def _list(self, pointer: str) -> bool:
        """Read one text, or a mapping of mappings, as the required list."""
        parent, key = _split(pointer)
        holder, value = value_at(self.value, parent), value_at(self.value, pointer)
        is_item = isinstance(value, dict) and (key in _LISTS_OF_MAPPINGS or value.keys() & {*STEP_WORDS})
        if isinstance(value, str) or (is_item and not all(isinstance(item, dict) for item in value.values())):
            items: dict[str, Any] = {"": value}
        elif isinstance(value, dict) and any(isinstance(item, (dict, list)) for item in value.values()):
            items = {f"/{escape(name)}": self._item(key, name, part) for name, part in value.items()}
            if key == "branches":  # before those of the items, which are the outer places
                short = [index for index, part in enumerate(value.values()) if isinstance(part, list)]
                self.renamed |= {f"{pointer}/{index}/steps": f"{pointer}/{index}" for index in short}
        else:
            return False
        holder[int(key) if isinstance(holder, list) else key] = list(items.values())
        for index, written in enumerate(items):
            self.renamed[f"{pointer}/{index}"] = f"{pointer}{written}"
        return True

    @staticmethod
    def _item(key: str, name: str, part: Any) -> Any:
        """Return the item of a list that an entry of a mapping means."""
        if key not in ("mcp", "http_executors", "composite", "tasks", "branches"):
            return part
        inner = part if isinstance(part, dict) else {"steps": part} if key == "branches" else {}
        return {"id": name, **inner}

    def _mapping(self, pointer: str) -> bool:
        """Read a list as the required mapping: of parts with their names in them, or of names."""
        parent, key = _split(pointer)
        value, holder = value_at(self.value, pointer), value_at(self.value, parent)
        if (word := self._only_part(parent, key, value)) is not None:
            holder[int(key) if isinstance(holder, list) else key] = {word: value}
            self.renamed[f"{pointer}/{word}"] = pointer
            return True
        if not isinstance(value, list) or not value or isinstance(holder, list):
            return False
        if pointer == "/tools":
            holder[key], self.renamed["/tools/python"] = {"python": value}, pointer
            return True
        named = _named_parts(value, of_texts=pointer.startswith("/inputs"))
        if named is None:
            return False
        section = f"{pointer}/required" if pointer == "/inputs" else pointer
        holder[key] = {"required": named} if pointer == "/inputs" else named
        for index, name in enumerate(named):
            self.renamed[f"{section}/{escape(name)}"] = f"{pointer}/{index}"
        return True

    def _only_part(self, parent: str, key: str, value: Any) -> str | None:
        """Return the key of a mapping whose value is written in place of the whole: the agent, or the steps."""
        if isinstance(value, str) and (key in _ROLES or value in self._agents()):
            return "agent" if parent.startswith("/pattern/config") else None
        return "then" if isinstance(value, list) and parent == "/pattern/config/routes" else None

    def _rename(self, pointer: str, key: str, loc: Loc, known_keys: frozenset[str] = frozenset()) -> None:
        """Give a key its right name or its right place, or remove one that means nothing."""
        holder = value_at(self.value, pointer)
        if key not in holder:
            return
        new_key = meant_key(key, known_keys, holder) if known_keys else meant_at(key, WorkflowSpec, loc, holder)
        value = holder.pop(key)
        written = f"{pointer}/{escape(key)}"
        self.replaced.add(written)
        if new_key is not None and new_key not in holder:
            holder[new_key] = value
            self.renamed[f"{pointer}/{escape(new_key)}"] = written
        elif new_key is None and (section := section_of(key, WorkflowSpec, loc)):
            self._move(pointer, [*map(str, section), key], value, written)

    def _move(self, pointer: str, path: list[str], value: Any, text: str) -> None:
        """Put a value where it belongs, unless something else is there."""
        holder = value_at(self.value, pointer)
        for token in path[:-1]:
            holder = holder.setdefault(token, {})
            if not isinstance(holder, dict):
                return
        if path[-1] not in holder:
            holder[path[-1]] = value
            self.renamed["/".join([pointer, *map(escape, path)])] = text

    def _give_form(self, pointer: str) -> bool:
        """Read a step without one of the three forms as the form that its other keys mean."""
        step = value_at(self.value, pointer)
        if pointer == "/pattern":
            return False
        if not isinstance(step, dict):
            return self._mapping(pointer)
        if mistyped := next((key for key in step if did_you_mean(key, STEP_WORDS)), None):
            self._rename(pointer, mistyped, (), frozenset(STEP_WORDS))
            self.revealed.add(pointer)
            return True
        form = _form_of(step, has_agents=bool(self._agents()))
        fields = (
            {"type": "hitl", "prompt": "-", **step} if form == "type" else {form: self._fitting_value(form, "", None)}
        )
        self.replaced |= {f"{pointer}/{word}" for word in fields.keys() - step.keys()}
        step.update(fields)
        return True

    def _replace(self, pointer: str) -> None:
        """Put a value that fits to a pointer; if that was in vain, to the nearest place above."""
        while pointer and pointer in self.replaced:
            pointer = pointer.rpartition("/")[0]
        if not pointer:
            return
        self.replaced.add(pointer)
        parent, key = _split(pointer)
        holder, section = value_at(self.value, parent), parent.rpartition("/")[2]
        if isinstance(holder, list):
            if not _has_id(holder[int(key)]):
                self.replaced.add(f"{pointer}/id")
            holder[int(key)] = self._fitting_value(section.removesuffix("s"), section, holder[int(key)])
            return
        if parent:  # a part that the document itself lacks, beside this, is a finding
            self.filled.add(parent)
        if (fitting := self._fitting_value(key, section, holder.get(key))) is not None:
            holder[key] = fitting
        else:
            holder.pop(key, None)

    def _fitting_value(self, key: str, section: str, old: Any) -> Any:
        """Return the value for a key or an item of a section; None where nothing has to be."""
        if section in ("required", "optional"):
            return "string"
        if section == "agents":
            return {"prompt": ""}
        if section == "edges":
            return {"from": _UNNAMED, "to": [_UNNAMED]}
        if key == "producer" and isinstance(old, dict) and isinstance(old.get("agent"), str):
            return old["agent"]
        if key in ("agent", "producer"):
            return next(iter(self._agents()), _UNNAMED)
        if section in ("steps", "nodes", "routes"):
            return self._step(old)
        if section in ("tasks", "branches", "mcp", "http_executors", "composite"):
            name = old["id"] if _has_id(old) else _UNNAMED
            return {"id": name, **(self._step(old) if section == "tasks" else {})}
        if key in _STEPS:
            step = self._step(old)
            return [step] if key == "steps" else {_UNNAMED: step} if key in ("nodes", "routes") else step
        return copy.deepcopy(_REQUIRED.get(key))

    def _step(self, old: Any) -> dict[str, Any]:
        agent = old.get("agent") if isinstance(old, dict) else None
        if isinstance(agent, str):
            return {"agent": agent}
        # A workflow without agents may have steps that call tools only.
        return {"agent": agents[0]} if (agents := self._agents()) else {"tool": _REQUIRED["tool"]}

    def _agents(self) -> list[str]:
        agents = self.value.get("agents")
        return [str(name) for name in agents] if isinstance(agents, dict) else []


def _only_word(error: Any) -> str | None:
    """Return the word that a place must have, if only one is possible."""
    words = error["ctx"]["expected"].strip("'")
    return None if "'" in words else words


def _form_of(step: Mapping[str, Any], *, has_agents: bool) -> str:
    """Return the word of the form of a step without one; a gate may be read in every way."""
    if isinstance(step.get("input"), dict):
        return "tool"
    return "agent" if has_agents and "input" in step else "type"


def _has_id(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("id"), str)


def _split(pointer: str) -> tuple[str, str]:
    holder, _, token = pointer.rpartition("/")
    return holder, token.replace("~1", "/").replace("~0", "~")


def _is_below(pointer: str, places: set[str]) -> bool:
    return any(pointer == parent or pointer.startswith(f"{parent}/") for parent in places)


def _named_parts(items: list[Any], *, of_texts: bool) -> dict[str, Any] | None:
    """Return a list as a mapping: parts by the names in them, or texts as names of inputs; None if it is neither."""
    if of_texts and all(isinstance(item, str) for item in items):
        return dict.fromkeys(items, "string")
    parts: dict[str, Any] = {}
    for item in items:
        name = item.get("id", item.get("name")) if isinstance(item, dict) else None
        if not isinstance(name, str) or name in parts:
            return None
        parts[name] = {word: part for word, part in item.items() if word not in ("id", "name")}
    return parts
