"""The steps of a pattern where they are written: journal keys, JSON pointers, templates and the names in scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from strands_cli.events import StepKind
from strands_cli.quick_dataclass import dataclass
from strands_cli.workflow.steps.step_models import AgentStep, CallStep, GateStep, Step
from strands_cli.workflow.template_scope import ANY, BESIDE, STEP, Items, Scope, Text, answered_by
from strands_cli.workflow.templates.template_errors import Path
from strands_cli.yaml_files.document import escape

CONFIG = "/pattern/config"


@dataclass(frozen=True, slots=True)
class Site:
    """One template or condition: its JSON pointer, its text, and the names it may use besides inputs.

    `use` ends a message about it: where it is rendered, if that is not its own place.
    """

    pointer: str
    text: str
    scope: Scope
    is_condition: bool = False
    use: str = ""


@dataclass(frozen=True, slots=True)
class PlacedStep:
    """One step of a pattern where it is written.

    Attributes:
        key: Its key in the journal; `N` replaces the number of a step that is repeated.
        pointer: JSON pointer of the node that describes it.
        scope: The names that its templates may use besides inputs.
        follows: Whether an agent without an input gets the response of the step before, instead of its prompt.
        answers: The form of the answer that the pattern reads, where it reads one.
        fields: JSON pointers of fields that are not written below `pointer` under their own name.
        words: The answers of a gate that the pattern knows.
        only_words: Whether these are the only ones.
    """

    key: str
    pointer: str
    step: Step
    scope: Scope = field(default_factory=dict)
    follows: bool = False
    answers: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    only_words: bool = False

    @property
    def actor(self) -> tuple[StepKind, str]:
        """Return the kind of the step, and its agent, its tool or `person`."""
        if isinstance(self.step, AgentStep):
            return "agent", self.step.agent
        return ("call", self.step.tool) if isinstance(self.step, CallStep) else ("gate", "person")

    def at(self, name: str) -> str:
        """Return the JSON pointer of a field of the step."""
        return self.fields.get(name, f"{self.pointer}/{name}")

    def names(self) -> Scope:
        """Return the names of the step's input and of its agent's prompt: its scope, and its own `vars`."""
        return {**self.scope, **dict.fromkeys(getattr(self.step, "vars", ()), ANY)}

    def sites(self) -> Iterator[Site]:
        """Yield the templates of the step."""
        step, scope = self.step, self.scope
        if isinstance(step, AgentStep):
            yield from strings_in(step.vars, self.at("vars"), scope)
            if step.input is not None:
                yield Site(self.at("input"), step.input, self.names())
        elif isinstance(step, CallStep):
            yield from strings_in(step.input, self.at("input"), scope)
        else:
            yield Site(self.at("prompt"), step.prompt, scope)
            if step.context_display is not None:
                yield Site(self.at("context_display"), step.context_display, scope)


def strings_in(value: Any, pointer: str, scope: Scope) -> Iterator[Site]:
    """Yield every text in a JSON value as a template."""
    waiting = [(pointer, value)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, str):
            yield Site(place, one, scope)
        elif isinstance(one, Mapping):
            waiting += [(f"{place}/{escape(key)}", item) for key, item in one.items()][::-1]
        elif isinstance(one, (list, tuple)):
            waiting += [(f"{place}/{index}", item) for index, item in enumerate(one)][::-1]


def steps_in_order(key: str, pointer: str, steps: Sequence[Step], scope: Scope | None = None) -> Iterator[PlacedStep]:
    """Yield steps that run one after another; each sees the responses of those before it.

    Args:
        key: What the keys begin with, before the step's number.
        pointer: JSON pointer of the list.
    """
    seen: dict[str, Any] = dict(scope or {})
    done = results_of(steps)
    for index, step in enumerate(steps):
        before = {"last_response": last_of_steps(steps[index - 1 : index])} if index else {}
        names = {**seen, "steps": Items(STEP, index, done), **before}
        yield PlacedStep(f"{key}.{index}", f"{pointer}/{index}", step, names, follows=index > 0)
        seen |= gate_scope([step])


def result_of(step: Step) -> Scope:
    """Return the names of the result of a step."""
    if isinstance(step, AgentStep):
        return {**STEP, **answered_by(step.agent)}
    return {**STEP, "response": Text(output=BESIDE if isinstance(step, CallStep) else ())}


def results_of(steps: Sequence[Step]) -> list[Scope]:
    """Return the names of the result of each step."""
    return [result_of(step) for step in steps]


def text_of(step: Step | None, output: Path = ()) -> Text:
    """Return the answer of a step as its text; `output` is where the same is as its schema describes it."""
    return Text((step.agent,) if isinstance(step, AgentStep) else (), () if isinstance(step, GateStep) else output)


def last_of_steps(steps: Sequence[Step]) -> Text:
    """Return `last_response` after steps that run one after another."""
    return text_of(steps[-1] if steps else None, ("steps", -1, "output"))


def optional_step(name: str, step: Step | None, scope: Scope) -> Iterator[PlacedStep]:
    """Yield the step of a field of the config whose name is also its key, where there is one."""
    if step is not None:
        yield PlacedStep(name, f"{CONFIG}/{name}", step, scope)


def gate_scope(steps: Sequence[Step | None]) -> dict[str, Any]:
    """Return the name of a person's answer, where one of the steps is a gate."""
    return {"hitl_response": Text()} if any(isinstance(step, GateStep) for step in steps) else {}
