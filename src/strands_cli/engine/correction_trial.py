"""Tries a corrected workflow over what a run has done, without a call, a question or a change of the journal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from strands_cli.engine.journal.journal_rows import Answer, Journal, Question
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.ports.engine_ports import AgentRequest, Ports
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import FileAtFault, RunRecordError, StrandsCliError, WaitingForPerson

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.engine.run_start.corrected_workflow import Correction
    from strands_cli.planning.plan.plan_values import PlannedTool


class _Copy(MemoryJournal):
    """The journal of a run as it is now; what is written here is forgotten."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        for row in journal.rows():
            self.note(row)

    def get(self, name: str) -> Any:
        """Return one fact of the run."""
        return super().get(name) if name in self._facts else self._journal.get(name)


class _NothingNew:
    """In the place of models, tools and people: whatever the journal does not have is not done."""

    def __init__(self, journal: Journal, copy: Journal, correction: Correction) -> None:
        self._journal, self._copy, self._before = journal, copy, correction.before

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> NoReturn:
        """Check a step that was cut off: the requests that it has made would be repeated from the journal."""
        made = next((row for row in self._journal.rows("model", scope.key) if row.status == "done"), None)
        known, now = self._journal.row(scope.key), self._copy.row(scope.key)
        agent = self._before.agents.get(request.agent.id)
        is_same = known and now and known.digest == now.digest and agent and agent.model == request.agent.model
        if made is not None and not is_same:
            raise RunRecordError(f"the input of {made.key} is not the one that the run recorded")
        raise WaitingForPerson(scope.key)

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> NoReturn:
        """Call nothing."""
        raise WaitingForPerson(scope.key)

    async def ask(self, question: Question) -> Answer:
        """Ask no person."""
        return Answer("waiting")


def _write_nothing(_texts: Any) -> NoReturn:
    raise WaitingForPerson("artifacts")


async def require_rehearsed(journal: Journal, correction: Correction) -> None:
    """Check that what a run has done holds with its corrected workflow, as far as that is known without a new call.

    Raises:
        RunRecordError: A step that is done would have another input; the message names its key.
        FileAtFault: A template of the corrected workflow cannot be rendered.
    """
    copy = _Copy(journal)
    others = _NothingNew(journal, copy, correction)
    ports = Ports(copy, others, others, others, SystemClock())
    plan, run_id = correction.after, journal.get("id")
    try:
        await execute(plan, ports, run_id, lambda _event: None, _write_nothing)
    except FileAtFault:
        raise
    except RunRecordError as error:
        fix = f"leave that as it was, or do it in a new run: strands run {shlex.quote(plan.file)}"
        raise RunRecordError(f"{error.message}: {plan.file} changes what is done already", fix=fix) from error
    except StrandsCliError:  # what stops the run here stops it again when it continues
        return
