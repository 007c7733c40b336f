"""The base of all patterns, its steps in their places, and the names that the templates of each may use."""

from __future__ import annotations

import abc
import functools
import itertools
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from strands_cli.events import StepKind
from strands_cli.quick_dataclass import dataclass
from strands_cli.workflow.graph_paths import leading_to_each
from strands_cli.workflow.sections import FormatModel, Runtime
from strands_cli.workflow.steps import AgentStep, CallStep, GateStep, Step
from strands_cli.workflow.templates.plugin_filters import Path
from strands_cli.yaml_files.document import escape

if TYPE_CHECKING:
    from typing import Self

    from strands_cli.errors import Finding, Severity
    from strands_cli.workflow.findings import Locator


@dataclass(frozen=True, slots=True)
class Items:
    """A list of items with the same names.

    Attributes:
        each: The names of an item.
        count: The number of items, or None where only the run knows it.
        own: More exactly, the names of those whose place is known; there may be more than `count`.
    """

    each: Any
    count: int | None = None
    own: Sequence[Any] = ()

    def at(self, index: int) -> Any:
        """Return the names of an item by its place, which may count from the end."""
        position = index + (self.count or 0) if index < 0 else index
        return self.own[position] if 0 <= position < len(self.own) else self.each


@dataclass(frozen=True, slots=True)
class UnknownContent:
    """A value whose content is unknown before the run."""


@dataclass(frozen=True, slots=True)
class Text:
    """The text of an answer, with the attributes of a text only.

    Attributes:
        agents: Who may have given it, where that is known.
        output: The path of the same answer as its schema describes it, or nothing where there is none; one that begins
            with `.` is beside the text.
    """

    agents: tuple[str, ...] = ()
    output: Path = ()


@dataclass(frozen=True, slots=True)
class Output:
    """An answer of these agents as their schema describes it."""

    agents: tuple[str, ...]


BESIDE: Path = (".", "output")


class AnswerNames(dict[str, Any]):
    """The names that a model's answer always has; it may have more."""


ANY = UnknownContent()
Scope = Mapping[str, Any]


def scope_of(*words: str) -> dict[str, Any]:
    """Return names whose values are known only in the run."""
    return dict.fromkeys(words, ANY)


# The fields of a result that its text does not show.
UNSHOWN = ("type", "prompt", "note", "tokens_estimated")
STEP: Scope = {**scope_of("output", "agent", "index", "status", "approved", *UNSHOWN), "response": Text(output=BESIDE)}


def answered_by(*agents: str) -> dict[str, Any]:
    """Return the names of an answer that one of these agents gives."""
    return {"response": Text(agents, BESIDE), "output": Output(agents)}


# Names that templates of every pattern may use somewhere; a pattern adds its own.
COMMON_NAMES = frozenset(
    {"steps", "last_response", "hitl_response", "hitl_note", "TRACE", "run", "runtime", "execution_context"}
)

# The names of the last answer of a person.
ANSWER: Scope = {"hitl_response": Text(), "hitl_note": ANY}

# Names that an input wins over everywhere, also one that only `--var` gives.
YIELDING = frozenset(
    {"name", "timestamp", "total_steps", "terminal_node", "chosen_route", "task_count", "worker_count"}
)

# The names for artifacts besides inputs and the pattern's own names.
AT_END: Scope = {
    **scope_of("last_response", "hitl_response", "hitl_note", "TRACE", "name", "timestamp", "total_steps"),
    "runtime": dict.fromkeys(Runtime.model_fields, ANY),
    "run": {
        **scope_of("id", "duration_s", "cost_usd"),
        "usage": scope_of("input_tokens", "output_tokens", "total_tokens", "model_calls", "tool_calls"),
    },
    # Has the names of the pattern too.
    "execution_context": {
        **scope_of("last_response", "hitl_response", "hitl_note", "total_steps"),
        "history": Items(scope_of("step", "agent", "response", "iteration")),
        "execution_path": Items(ANY),
    },
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A path that does not exist: the message, the wrong word, and the words that would be right."""

    message: str
    word: str
    known_names: tuple[str, ...]
    is_certain: bool = True


def problem_of(path: Path, scope: Scope) -> Problem | None:
    """Follow a path whose first name the scope has; return the problem where it does not exist."""
    node: Any = scope
    for position, part in enumerate(path):
        if isinstance(node, (UnknownContent, Text, Output)) or (part == "*" and not isinstance(node, Items)):
            return None
        if isinstance(node, Items):
            if part == "*":
                node = node.each
                continue
            if not isinstance(part, int):
                return Problem(f"`{spoken_path(path[:position])}` is a list, which has no `{part}`", str(part), ())
            if node.count is not None and not -node.count <= part < node.count:
                return Problem(_beyond(path[: position + 1], node.count), str(part), ())
            node = node.at(part)
        elif part in node:
            node = node[part]
        else:
            return _absent(path, position, node)
    return None


def answer_in(path: Path, scope: Scope) -> tuple[int, Text | Output] | None:
    """Return the answer that a path leads into, and how many parts lead to it."""
    node: Any = scope
    for position, part in enumerate(path):
        if isinstance(node, (Text, Output)):
            return position, node
        if isinstance(node, Items):
            node = node.at(part) if isinstance(part, int) else node.each if part == "*" else None
        else:
            node = node.get(part) if isinstance(node, Mapping) else None
    return None


def _absent(path: Path, position: int, node: Mapping[str, Any]) -> Problem:
    owner, part = spoken_path(path[:position]), str(path[position])
    known_names = tuple(sorted(node))
    if isinstance(node, AnswerNames):
        return Problem(
            f"`{owner}` has `{part}` only where the model answers with it", part, known_names, is_certain=False
        )
    return Problem(f"`{owner}` has no `{part}`", part, known_names)


def is_result(path: Path, scope: Scope) -> bool:
    """Return whether a path names a whole result of a step."""
    node: Any = scope
    for part in path:
        node = node.each if isinstance(node, Items) else node.get(part) if isinstance(node, Mapping) else None
    return isinstance(node, Mapping) and "response" in node


def _beyond(path: Path, count: int) -> str:
    there = {0: "no step", 1: "only one step"}.get(count, f"only {count} steps")
    return f"`{spoken_path(path)}` cannot be known here: {there} before"


def spoken_path(path: Path) -> str:
    """Return a path as templates spell it: `steps[0].response`."""
    return "".join(_spoken(path))


def _spoken(path: Path) -> Iterator[str]:
    for position, part in enumerate(path):
        if isinstance(part, int) or part == "*":
            yield f"[{part}]" if part != "*" else "[...]"
        elif position and not part.isidentifier():
            yield f"[{part!r}]"
        else:
            yield f".{part}" if position else part


# The steps of a pattern where they are written: journal keys, JSON pointers, templates and the names in scope.


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
        key: Its key in the journal; `N` replaces the number of a repeated step.
        pointer: JSON pointer of the node that describes it.
        scope: The names that its templates may use besides inputs.
        follows: Whether an agent without an input gets the response of the step before, instead of its prompt.
        answers: The form of the answer that the pattern reads, where it reads one.
        fields: JSON pointers of fields written elsewhere than below `pointer` under their own name.
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
            for index, attached in enumerate(step.attachments):
                yield Site(f"{self.at('attachments')}/{index}", attached.path, self.names())
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
        pointer, value = waiting.pop()
        if isinstance(value, str):
            yield Site(pointer, value, scope)
        elif isinstance(value, Mapping):
            waiting += [(f"{pointer}/{escape(key)}", item) for key, item in value.items()][::-1]
        elif isinstance(value, (list, tuple)):
            waiting += [(f"{pointer}/{index}", item) for index, item in enumerate(value)][::-1]


def steps_in_order(key: str, pointer: str, steps: Sequence[Step], scope: Scope | None = None) -> Iterator[PlacedStep]:
    """Yield steps that run one after another; each sees the responses of those before it.

    Args:
        key: The beginning of the keys, before the step's number.
        pointer: JSON pointer of the list.
    """
    scope_so_far: dict[str, Any] = dict(scope or {})
    done = results_of(steps)
    for index, step in enumerate(steps):
        before = {"last_response": last_of_steps(steps[index - 1 : index])} if index else {}
        names = {**scope_so_far, "steps": Items(STEP, index, done), **before}
        yield PlacedStep(f"{key}.{index}", f"{pointer}/{index}", step, names, follows=index > 0)
        scope_so_far |= gate_scope([step])


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
    """Return the names of a person's answer, where one of the steps is a gate."""
    return dict(ANSWER) if any(isinstance(step, GateStep) for step in steps) else {}


# The description of a pattern: its config, steps, edges, names, checks and a workflow to start from.


_NOT_IN_NAMES = re.compile(r"^(nodes|tasks)\.|^iterations\.(\d+|N)\.|#(\d+|N)$")


class StepEdge(NamedTuple):
    """An arrow between two steps, by their keys, with the condition or the name that chooses it."""

    before: str
    after: str
    label: str = ""


class SharedAgent(NamedTuple):
    """An agent that may work on two steps at the same time, and the JSON pointer of the later mention.

    With `memory: path` workers begin without a conversation.
    """

    agent: str
    pointer: str
    severity: Severity = "error"
    is_worker: bool = False


class PatternModel(FormatModel):
    """One pattern in a workflow, and everything that the rest of the program asks it.

    A subclass is a pattern: its model of the config, its steps with the names in their scope, its checks, its picture
    and the function that runs it. The entry-point group `strands_cli.patterns` names subclasses.

    Attributes:
        runs: The coroutine function that runs it, or its place as `module:name`, which is imported when it runs. It
            gets the `Run` and the config, and returns the names that artifacts may use, `last_response` among them.
        purpose: The use of the pattern, in one sentence.
        starter: The agents, pattern and outputs of a new workflow, as YAML.
        reserved: Names that its templates may use and that inputs should not have. Those of the core's patterns are
            in the table of `patterns/pattern_models.py`: each workflow asks for them, and imports one pattern.
        is_bounded: Whether every step runs at most once.
        runs_every_step: Whether a run that completes has run every step once.
        joins_any: Whether one of the edges to a step is enough to run it, rather than all of them.
    """

    runs: ClassVar[str | Callable[..., Awaitable[dict[str, Any]]]]
    purpose: ClassVar[str]
    starter: ClassVar[str]
    recording: ClassVar[str]
    reserved: ClassVar[frozenset[str]] = frozenset()
    is_bounded: ClassVar[bool] = False
    runs_every_step: ClassVar[bool] = False
    joins_any: ClassVar[bool] = False

    type: str
    config: FormatModel

    @abc.abstractmethod
    def steps(self) -> Iterator[PlacedStep]:
        """Yield the steps in the order of the file; a repeated step is yielded once."""

    @functools.cached_property
    def placed(self) -> tuple[PlacedStep, ...]:
        """The steps, collected once."""
        return tuple(self.steps())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, whose steps are its own."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("placed", None)
        return copied

    @abc.abstractmethod
    def names_at_end(self) -> Scope:
        """Return the pattern's own names that artifacts may use."""

    def step_name(self, key: str) -> str:
        """Return the name of a step in `execution_context`: the id of a node or task, a role, else the step's key."""
        return _NOT_IN_NAMES.sub("", key)

    def last_answer(self) -> Text | UnknownContent:
        """Return `last_response` at the end of a run."""
        return ANY

    def names_in_prompt(self, placed: PlacedStep) -> Scope:
        """Return the names for the prompt of a step's agent besides inputs: those of the step's input."""
        return placed.names()

    def edges(self) -> list[StepEdge]:
        """Return which step follows which; the default is the order of `steps`."""
        return in_order([placed.key for placed in self.placed])

    def ways_back(self) -> list[StepEdge]:
        """Return the ways of results to an earlier step that `edges` does not have."""
        return []

    def templates(self) -> Iterator[Site]:
        """Yield the templates and conditions of the config that do not belong to a step."""
        yield from ()

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Yield the faults of the config besides its steps; `locator` knows where each part is written."""
        yield from ()

    def shared_agents(self, agents: Collection[str]) -> Iterator[SharedAgent]:
        """Yield those of the agents that may work on two steps at the same time."""
        yield from ()

    def messages_again(self) -> Iterator[tuple[str, Site]]:
        """Yield each agent with certain earlier work, with the message that it then gets."""
        for placed, agent in self.steps_again():
            if isinstance(placed.step, AgentStep) and placed.step.input is not None:
                yield agent, Site(placed.at("input"), placed.step.input, placed.names())

    def steps_again(self) -> Iterator[tuple[PlacedStep, str]]:
        """Yield each step before which its agent has certainly worked, with the agent."""
        placed = {step.key: step for step in self.placed}
        agents = {key: step.step.agent for key, step in placed.items() if isinstance(step.step, AgentStep)}
        followers: dict[str, list[str]] = {key: [] for key in placed}
        for edge in self.edges():
            if edge.before in placed and edge.after in placed:
                followers[edge.before].append(edge.after)
        steps_of: dict[str, int] = {}
        for position, key in enumerate(placed):
            if key in agents:
                steps_of[agents[key]] = steps_of.get(agents[key], 0) | 1 << position
        again = {
            key for key, leading in leading_to_each(followers) if key in agents and leading & steps_of[agents[key]]
        }
        yield from ((placed[key], agent) for key, agent in agents.items() if key in again)

    def limits(self) -> Iterator[str]:
        """Yield sentences about repetition and defaults, for a person."""
        yield from ()


def in_order(keys: list[str]) -> list[StepEdge]:
    """Return the edges of steps that run one after another."""
    return [StepEdge(before, after) for before, after in itertools.pairwise(keys)]
