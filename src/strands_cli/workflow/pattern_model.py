"""What a pattern describes of itself: its config, steps, edges, names, checks and a workflow to start from."""

from __future__ import annotations

import abc
import functools
import itertools
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from strands_cli.workflow.base_model import FormatModel
from strands_cli.workflow.graph_paths import leading_to_each
from strands_cli.workflow.placed_steps import PlacedStep, Site
from strands_cli.workflow.steps.step_models import AgentStep
from strands_cli.workflow.template_scope import ANY, Scope, Text, Unnamed

if TYPE_CHECKING:
    from typing import Self

    from strands_cli.errors import Finding, Severity
    from strands_cli.workflow.findings import Locator


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
    and what runs it. The entry-point group `strands_cli.patterns` names subclasses.

    Attributes:
        runs: The coroutine function that runs it, or its place as `module:name`, which is imported when it runs. It
            gets the `Run` and the config, and returns the names that artifacts may use, `last_response` among them.
        purpose: What the pattern is for, in one sentence.
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
        """Yield the steps in the order of the file; a step that is repeated is yielded once."""

    @functools.cached_property
    def placed(self) -> tuple[PlacedStep, ...]:
        """The steps, which are found once."""
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
        """Return what `execution_context` calls a step: the id of a node or task, a role, else the step's key."""
        return _NOT_IN_NAMES.sub("", key)

    def last_answer(self) -> Text | Unnamed:
        """Return `last_response` at the end of a run."""
        return ANY

    def names_in_prompt(self, placed: PlacedStep) -> Scope:
        """Return what the prompt of the agent of a step may use besides inputs: what the step's input may."""
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
        """Yield what is wrong in the config besides its steps; `locator` knows where each part is written."""
        yield from ()

    def shared_agents(self, agents: Collection[str]) -> Iterator[SharedAgent]:
        """Yield those of the agents that may work on two steps at the same time."""
        yield from ()

    def messages_again(self) -> Iterator[tuple[str, Site]]:
        """Yield each agent that has certainly worked before, with the message that it then gets."""
        for placed, agent in self.steps_again():
            if isinstance(placed.step, AgentStep) and placed.step.input is not None:
                yield agent, Site(placed.at("input"), placed.step.input, placed.names())

    def steps_again(self) -> Iterator[tuple[PlacedStep, str]]:
        """Yield each step before which its agent has certainly worked, with the agent."""
        placed = {one.key: one for one in self.placed}
        agents = {key: one.step.agent for key, one in placed.items() if isinstance(one.step, AgentStep)}
        followers: dict[str, list[str]] = {key: [] for key in placed}
        for edge in self.edges():
            if edge.before in placed and edge.after in placed:
                followers[edge.before].append(edge.after)
        steps_of: dict[str, int] = {}
        for place, key in enumerate(placed):
            if key in agents:
                steps_of[agents[key]] = steps_of.get(agents[key], 0) | 1 << place
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
