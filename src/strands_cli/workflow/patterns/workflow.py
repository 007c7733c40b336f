"""The workflow: tasks that start as soon as the tasks they depend on are done."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from strands_cli.errors import Code, Finding, Severity
from strands_cli.workflow.findings import UNKNOWN_NAME, duplicates, no_effect, unknown
from strands_cli.workflow.graph_paths import connected, cycles, leading_nodes, leading_to_each, reached_from
from strands_cli.workflow.pattern_model import (
    ANSWER,
    CONFIG,
    PatternModel,
    PlacedStep,
    Scope,
    SharedAgent,
    StepEdge,
    Text,
    result_of,
    text_of,
)
from strands_cli.workflow.sections import FormatModel, Identifier
from strands_cli.workflow.steps import AgentStep, CallStep, GateStep, step_form
from strands_cli.workflow.templates.template import Templates

if TYPE_CHECKING:
    from strands_cli.workflow.findings import Locator

UNKNOWN_TASK = Code(
    "unknown-task", "A dependency names a task that is not defined.", "Correct the name or define the task."
)
TASK_CYCLE = Code("task-cycle", "Tasks that wait for each other.", "Remove one of the dependencies.")
MISSING_DEPENDENCY = Code(
    "missing-dependency",
    "A task reads the answer of another without waiting for it.",
    "Add the other task to its `deps`.",
)

TASKS = f"{CONFIG}/tasks"

STARTER = """\
agents:
  writer: {prompt: You write short and plain., tools: []}
  researcher: {prompt: You list facts you are sure of., tools: []}

pattern:
  type: workflow
  config:
    tasks:
      - {id: outline, agent: writer, input: "Outline a text on {{ topic }} in three points."}
      - {id: facts, agent: researcher, input: "Three facts on {{ topic }}."}
      - id: text
        deps: [outline, facts]
        agent: writer
        input: |
          Write the text.
          Outline: {{ tasks.outline.response }}
          Facts: {{ tasks.facts.response }}

outputs:
  overwrite: true   # a run replaces the file of the run before
  artifacts:
    - {path: "{{ name }}.md", from: "{{ tasks.text.response }}"}
"""
RECORDING = """\
recording: 1
steps:
  tasks.outline: [{text: "home, work, honey"}]
  tasks.facts: [{text: "They dance. They keep their hive at 35 degrees. They store honey."}]
  tasks.text: [{text: "Bees live warm, dance to tell where flowers are, and store what they find as honey."}]
"""


_ON_ERROR: Any = Field(
    default="stop", description="A failure stops the run, or only the tasks that depend on this one."
)


class TaskFields(FormatModel):
    """The fields of a task besides its step."""

    id: Identifier = Field(description="Name of the task.")
    deps: tuple[str, ...] = Field(default=(), description="Tasks that must be done before this one starts.")
    description: str | None = Field(default=None, description="What the task is for.")
    on_error: Literal["stop", "continue"] = _ON_ERROR


class AgentTask(AgentStep, TaskFields):
    """A task with a turn of an agent."""


class GateTask(GateStep, TaskFields):
    """A task with a question to a person."""


class CallTask(CallStep, TaskFields):
    """A task with one call of a tool."""

    on_error: Literal["stop", "continue"] = _ON_ERROR

    @property
    def continues_after_error(self) -> bool:
        """Whether later tasks get an error of the tool: no, those that depend on a failed task are skipped."""
        return False


Task = Annotated[
    Annotated[AgentTask, Tag("<agent>")] | Annotated[GateTask, Tag("<gate>")] | Annotated[CallTask, Tag("<tool>")],
    Discriminator(step_form),
]


class DagConfig(FormatModel):
    """Tasks that start as soon as their own dependencies are done."""

    tasks: tuple[Task, ...] = Field(min_length=1, description="The tasks, in any order.")

    @functools.cached_property
    def dependencies(self) -> dict[str, list[str]]:
        """Return each task's dependencies that exist."""
        dependencies: dict[str, list[str]] = {task.id: [] for task in self.tasks}
        for task in self.tasks:
            dependencies[task.id] += [name for name in task.deps if name in dependencies]
        return dependencies

    @functools.cached_property
    def waiting(self) -> dict[str, list[str]]:
        """Return the tasks that depend on each task."""
        waiting: dict[str, list[str]] = {task.id: [] for task in self.tasks}
        for name, before in self.dependencies.items():
            for other in before:
                waiting[other].append(name)
        return waiting

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """Return the place of each task in `waiting`."""
        return {name: position for position, name in enumerate(self.waiting)}

    @functools.cached_property
    def waits_for(self) -> dict[str, int]:
        """Return which tasks each task waits for, directly or through others: bit N is that at place N."""
        return dict(leading_to_each(self.waiting))

    @functools.cached_property
    def after_gates(self) -> set[str]:
        """Return the tasks that wait for a gate, directly or through others."""
        return reached_from([task.id for task in self.tasks if isinstance(task, GateStep)], self.waiting)


class ResultsBefore(Mapping[str, Scope]):
    """The results of some tasks: a mapping of its own for each task would be the square of their number."""

    def __init__(self, results: Mapping[str, Scope], places: Mapping[str, int], tasks: int) -> None:
        """Take the results of all tasks, and those that it has: bit N is the task at place N."""
        self._results, self._places, self._tasks = results, places, tasks

    def __getitem__(self, name: str) -> Scope:
        """Return the result of a task that it has."""
        if not self._tasks >> self._places[name] & 1:
            raise KeyError(name)
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of its tasks, in their order."""
        return iter(leading_nodes(self._places, self._tasks))

    def __len__(self) -> int:
        """Return the number of its tasks."""
        return self._tasks.bit_count()


class WorkflowPattern(PatternModel):
    """Tasks with dependencies."""

    runs = "strands_cli.engine.patterns.workflow:workflow"
    purpose = "Tasks with dependencies; each starts when its own are done."
    starter = STARTER
    recording = RECORDING
    is_bounded = True

    type: Literal["workflow"] = Field(description="The pattern's name.")
    config: DagConfig = Field(description="The tasks.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the tasks."""
        scope = self.names_at_end()
        for index, task in enumerate(self.config.tasks):
            names = {**scope, **self._answer_before(task.id)}
            yield PlacedStep(f"tasks.{task.id}", f"{TASKS}/{index}", task, names)

    def names_at_end(self) -> Scope:
        """Return the results of the tasks."""
        return {"tasks": self._results}

    @functools.cached_property
    def _results(self) -> dict[str, Scope]:
        return {task.id: result_of(task) for task in self.config.tasks}

    def last_answer(self) -> Text:
        """Return the answer of the last task of the file."""
        last = self.config.tasks[-1]
        return text_of(last, ("tasks", last.id, "output"))

    def names_in_prompt(self, placed: PlacedStep) -> Scope:
        """Return the results of the tasks that a task waits for."""
        before = self.config.waits_for[placed.key.removeprefix("tasks.")]
        return {**placed.names(), "tasks": ResultsBefore(self._results, self.config.places, before)}

    def _answer_before(self, name: str) -> Scope:
        """Return the names of a person's answer, where a task waits for a gate."""
        return dict(ANSWER) if name in self.config.after_gates else {}

    def edges(self) -> list[StepEdge]:
        """Return the dependencies."""
        return [StepEdge(f"tasks.{dep}", f"tasks.{task.id}") for task in self.config.tasks for dep in task.deps]

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Report ids that occur twice, dependencies that do not exist, cycles, and reads without a dependency."""
        ids = [task.id for task in self.config.tasks]
        known_ids = set(ids)
        yield from duplicates("task", ids, TASKS, locator)
        for index, task in enumerate(self.config.tasks):
            seen = set[str]()
            for number, name in enumerate(task.deps):
                if name in known_ids and name not in seen:
                    seen.add(name)
                    continue
                where = locator.where(f"{TASKS}/{index}/deps/{number}")
                if name in known_ids:
                    yield no_effect(f"the dependency {name!r} is named twice", where)
                else:
                    yield unknown(UNKNOWN_TASK, name, ids, where)
        for cycle in cycles(self.config.dependencies):
            where = locator.where(f"{TASKS}/{ids.index(cycle[0])}/deps")
            path = " -> ".join((*cycle, cycle[0]))
            yield Finding(TASK_CYCLE, f"tasks wait for each other: {path}", where, "remove one of these dependencies")
        yield from _check_reads(self.config, locator)

    def shared_agents(self, agents: Collection[str]) -> Iterator[SharedAgent]:
        """Yield agents of tasks that do not wait for each other."""
        place_of = self.config.places
        earlier, others = dict.fromkeys(agents, 0), dict[str, int]()
        for task in self.config.tasks:
            if isinstance(task, AgentStep) and task.agent in agents:
                others[task.id] = earlier[task.agent]
                earlier[task.agent] |= 1 << place_of[task.id]
        for ordered in (self.config.waiting, self.config.dependencies):
            for name, leading in leading_to_each(ordered):
                if name in others:
                    others[name] &= ~leading
        for index, task in enumerate(self.config.tasks):
            if isinstance(task, AgentStep) and others.get(task.id):
                yield SharedAgent(task.agent, f"{TASKS}/{index}/agent")


def _check_reads(config: DagConfig, locator: Locator) -> Iterator[Finding]:
    """Report tasks that read the response of a task which they do not wait for.

    Such a template fails whenever it is reached: an error where it is always reached, a warning where a branch of the
    template may skip it.
    """
    reads = [read for read in _reads(config) if read[1] in config.dependencies]
    done = connected(((name, reader) for reader, name, _, _ in reads), config.waiting)
    reads = [read for read in reads if (read[1], read[0]) not in done]
    later = connected(((reader, name) for reader, name, _, _ in reads), config.waiting)
    for reader, name, pointer, is_certain in reads:
        severity: Severity = "error" if is_certain else "warning"
        where = locator.where(pointer)
        if name == reader or (reader, name) in later:
            message = f"task {reader!r} reads {name!r}, which is not done before it"
            yield Finding(UNKNOWN_NAME, message, where, "reverse the dependency", severity)
        else:
            message = f"task {reader!r} reads {name!r} without depending on it, and sees only what it depends on"
            yield Finding(MISSING_DEPENDENCY, message, where, f"add {name!r} to `deps`", severity)


def _reads(config: DagConfig) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each task, a task that its templates read, the template's pointer, and whether it always reads it."""
    templates = Templates()
    for index, task in enumerate(config.tasks):
        for site in PlacedStep("", f"{TASKS}/{index}", task).sites():
            certain = templates.certain_reads_in(site.text, "tasks")
            paths = {path[:2] for path in templates.paths_in(site.text) if path[0] == "tasks" and len(path) > 1}
            for path in sorted(paths | certain, key=str):
                yield task.id, str(path[1]), site.pointer, path in certain
