"""What a workflow of the earlier format means where version 1 means something else: rows for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.orchestrator_inputs import unread_inputs
from strands_cli.workflow.secret_places import references_in
from strands_cli.workflow.steps import AgentStep, GateStep
from strands_cli.workflow.yaml import escape


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, as one row of the migration page.

    Attributes:
        subject: What it is about, in a few words.
        earlier: What version 0 means, in a sentence without a full stop.
        now: What version 1 means.
        codes: The codes of the findings that report it in either version, each in backticks.
        concerns: Returns the JSON pointers of the parts of a workflow that it is about, whatever the version.
    """

    subject: str
    earlier: str
    now: str
    codes: str
    concerns: Callable[[Loaded], Iterable[str]]


def _agents_without_memory(loaded: Loaded) -> Iterator[str]:
    """Yield the agents whose file leaves open what they remember."""
    if loaded.spec is None:
        return
    working = {placed.step.agent for placed in loaded.spec.pattern.steps() if isinstance(placed.step, AgentStep)}
    for name in loaded.spec.agents:
        pointer = f"/agents/{escape(name)}"
        if name in working and not loaded.is_written(f"{pointer}/memory"):
            yield pointer


def _written(loaded: Loaded, *pointers: str) -> Iterator[str]:
    """Yield those of the pointers that the file has."""
    yield from (pointer for pointer in pointers if loaded.is_written(pointer))


def _gates(loaded: Loaded) -> Iterator[str]:
    steps = loaded.spec.pattern.steps() if loaded.spec is not None else ()
    yield from (placed.pointer for placed in steps if isinstance(placed.step, GateStep))


def _with_references(loaded: Loaded) -> Iterator[str]:
    yield from references_in(loaded.spec) if loaded.spec is not None else ()


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "What an agent remembers",
        "an agent keeps its conversation over its steps; steps at the same time each keep their own",
        "each step begins a new conversation (`memory: step`), unless the agent has `memory: run`",
        "`concurrent-memory`, `lost-conversation`",
        _agents_without_memory,
    ),
    Difference(
        "The list of skills",
        "the system prompt of an agent with skills ends with their list",
        "the list is in the description of the tool `Skill` only",
        "",
        lambda loaded: _written(loaded, "/skills"),
    ),
    Difference(
        "The review of a route",
        "a route's name or `route:NAME` chooses it; an approval confirms; any other answer is asked again",
        "the same",
        "",
        lambda loaded: _written(loaded, "/pattern/config/router/review_router"),
    ),
    Difference(
        "The review of a draft",
        "`stop`, `abort`, `end` or `accept` takes the draft and ends; any other answer asks for the next draft",
        "the same",
        "",
        lambda loaded: _written(loaded, "/pattern/config/review_gate"),
    ),
    Difference(
        "`timeout_seconds: 0` of a gate",
        "no limit",
        "the same",
        "",
        lambda loaded: (gate for gate in _gates(loaded) if loaded.is_written(f"{gate}/timeout_seconds")),
    ),
    Difference(
        "`strands approve` without `--answer`",
        "the approval that the conditions after the gate compare with; it asks which where they compare with none",
        "the same",
        "",
        _gates,
    ),
    Difference(
        "Secrets in headers, addresses, servers' `env` and `runtime`",
        "`${NAME}` is the value of the declared secret",
        "the same, also as `${secrets.NAME}`; one that is not declared is an error",
        "`unknown-secret`",
        _with_references,
    ),
    Difference(
        "The inputs of an orchestrator",
        "they are appended to its message where neither that nor its prompt names one",
        "it gets those that its message or prompt names",
        "`unread-inputs`",
        lambda loaded: ["/pattern/config/orchestrator"] if loaded.spec and unread_inputs(loaded.spec) else (),
    ),
    Difference(
        "`max_workers` of an orchestrator",
        "how many tasks are done at the same time; all are done",
        "the same; `limits.max_tasks` fails a run with more tasks",
        "",
        lambda loaded: _written(loaded, "/pattern/config/orchestrator/limits/max_workers"),
    ),
)
