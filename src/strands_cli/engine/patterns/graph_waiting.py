"""The nodes of a graph that must wait while a question waits for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from strands_cli.workflow.graph_paths import reached_from
from strands_cli.workflow.placed_steps import PlacedStep
from strands_cli.workflow.steps.step_models import AgentStep
from strands_cli.workflow.templates.template import is_prompt_template

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.errors import WaitingForPerson
    from strands_cli.workflow.patterns.graph import GraphConfig


class WaitingNodes:
    """The nodes of one graph that wait for a person, and those that must wait with them.

    A node is `open` while an answer may change whether, how often or with which input it runs: it waits itself, or a
    path leads to it from a node that does. A node whose templates read an open node waits too, and is then open. So
    the nodes that run meanwhile get the same input as if the answer had been there at once.
    """

    def __init__(self, run: Run, config: GraphConfig) -> None:
        self._run = run
        self._config = config
        self._open: set[str] = set()
        self._waiting: dict[str, WaitingForPerson] = {}

    def wait(self, node: str, reason: WaitingForPerson) -> None:
        """Add a node that waits for a person."""
        self._waiting[node] = reason
        self._open_after([node])

    @property
    def reasons(self) -> list[WaitingForPerson]:
        """The questions, in the order of the file."""
        return [self._waiting[node] for node in self._config.nodes if node in self._waiting]

    def free(self, nodes: list[str]) -> list[str]:
        """Return those of these nodes that can run now; the others wait until the run is resumed."""
        while blocked := [node for node in nodes if self._blocks(node)]:
            self._open_after(blocked)
            nodes = [node for node in nodes if node not in blocked]
        return nodes

    def blocks_edges(self, node: str) -> bool:
        """Return whether an answer may change where a finished node leads; its edges are then not followed."""
        conditions = [choice.when for edge in self._config.edges if edge.from_ == node for choice in edge.choose or ()]
        if not self._open or not self._reads(conditions, are_conditions=True):
            return False
        self._open |= reached_from([node], self._config.followers, beyond=self._open)
        return True

    def _open_after(self, nodes: list[str]) -> None:
        """Open nodes and all that they lead to; what open nodes lead to is open already."""
        self._open |= {*nodes, *reached_from(nodes, self._config.followers, beyond=self._open)}

    def _blocks(self, node: str) -> bool:
        if not self._open:
            return False
        step = self._config.nodes[node]
        texts = [site.text for site in PlacedStep("", "", step).sites()]
        if isinstance(step, AgentStep) and is_prompt_template(prompt := self._run.plan.agents[step.agent].prompt):
            texts.append(prompt)
        return node in self._open or self._shares_conversation(node) or self._reads(texts)

    def _shares_conversation(self, node: str) -> bool:
        """Return whether an open node uses the same conversation (`memory: run`), whose order must be defined."""
        step = self._config.nodes[node]
        if not isinstance(step, AgentStep) or not self._run.step_inputs.conversations.has_one(step):
            return False
        others = (self._config.nodes[other] for other in self._open)
        return any(isinstance(other, AgentStep) and other.agent == step.agent for other in others)

    def _reads(self, texts: Iterable[str], *, are_conditions: bool = False) -> bool:
        """Return whether templates read an open node, or a name that any node may change."""
        templates = self._run.step_inputs.templates
        for text in texts:
            paths = templates.reads_in(text, "nodes", is_condition=are_conditions)
            if any(len(path) < 2 or path[1] == "*" or path[1] in self._open for path in paths):
                return True
            if templates.reads_in(text, "hitl_response", is_condition=are_conditions):
                return True
        return False
