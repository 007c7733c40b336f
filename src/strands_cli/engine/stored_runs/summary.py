"""What a stored run did: its answer, files, models, costs, decisions and effects, from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strands_cli.engine.denials import FailedCalls, failed_calls_of
from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.journal.artifact_rows import row_of_artifacts, written_of
from strands_cli.engine.journal.journal_rows import in_order_of_request
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.ports.store_port import StoredJournal, StoredRun
from strands_cli.engine.stored_runs.described import damaged_facts, run_of
from strands_cli.engine.stored_runs.effect_summary import EffectSummary
from strands_cli.engine.stored_runs.last_place import WorkedOn, worked_on
from strands_cli.engine.stored_runs.stored_secrets import stored_redactor
from strands_cli.events import UNKNOWN_END_OF_ROW, Denials, Verdict
from strands_cli.workflow.sections import Budgets


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A stored run as one value; its text and its JSON derive from it.

    Attributes:
        run: What the list of runs has.
        response: The answer of a complete run.
        artifacts: The files that it wrote: `path`, `digest`, `size`.
        models: The models that answered.
        spent: The calls, tokens and costs of the run; what it took over from another run is not counted.
        failed_calls: The calls that failed or were denied.
        effects: All effects, the calls of a turn in the order of its request.
        answers: The last answer of a model in each step, by the step's key.
        inputs: The inputs, without secrets.
        origin: The run that it reruns, and the key from which on.
        corrections: For each `resume --spec`, what the corrected workflow changed.
        python_tools: The tools that only a program can provide, each with its file.
        workflow_text: The text of the workflow file, without secrets.
        refusals: Why workers have refused a run that is queued, by their names.
        worked_on: Where the run was worked on; None before that.
        verdict: That of the evaluator on its last draft; None without one.
    """

    run: StoredRun
    response: str | None
    artifacts: Sequence[Mapping[str, Any]]
    models: Sequence[str]
    spent: Budget
    failed_calls: FailedCalls
    effects: Sequence[EffectSummary]
    answers: Mapping[str, EffectSummary]
    inputs: Any
    origin: Mapping[str, str] | None
    corrections: Sequence[Sequence[str]]
    python_tools: Mapping[str, str]
    workflow_text: str = ""
    refusals: Mapping[str, str] = field(default_factory=dict)
    worked_on: WorkedOn | None = None
    verdict: Verdict | None = None

    @property
    def denials(self) -> Sequence[Denials]:
        """The calls that were denied."""
        return self.failed_calls.denials

    @property
    def unknown_ends(self) -> Mapping[str, int]:
        """How many answers of models ended with a reason that is not known, by the reason."""
        found = (one.row.detail.get(UNKNOWN_END_OF_ROW) for one in self.effects if one.row.kind == "model")
        return Counter(str(one) for one in found if one)

    @property
    def cut_off(self) -> int:
        """How many requests to models had begun when the run ended; their providers may count them."""
        if self.run.status in ("running", "waiting"):
            return 0
        return sum(one.row.kind == "model" and one.status == "started" for one in self.effects)


def summary_of(journal: StoredJournal) -> RunSummary:
    """Return what a run did; a damaged row of it has what can be read.

    Raises:
        RunRecordError: The facts of the run, or all of its rows, cannot be read.
    """
    journal = journal.tolerant()
    run = run_of(journal)
    effects = [EffectSummary(row) for row in in_order_of_request(journal.rows())]
    rows = [one.row for one in effects]
    written = row_of_artifacts(rows)
    return RunSummary(
        run=run,
        response=journal.get("response"),
        artifacts=written_of(written) if written is not None else (),
        models=list(dict.fromkeys(row.detail["model"] for row in rows if row.detail.get("model"))),
        spent=Budget.counted(Budgets(), SystemClock(), journal, rows),
        failed_calls=failed_calls_of(row for row in rows if row.kind == "tool"),
        effects=effects,
        answers=_last_answers(effects),
        **_later_facts(journal),
    )


def _later_facts(journal: StoredJournal) -> dict[str, Any]:
    """Return the facts of a run that are shown as they were given."""
    origin, corrections, given = (journal.get(name) for name in ("rerun_of", "corrections", "given"))
    refusals = (journal.get("refusals") or {}) if journal.get("status") == "queued" else {}
    try:
        redactor = stored_redactor(journal)
        return {
            "inputs": redactor.json(journal.get("inputs")),
            "origin": {name: str(origin[name]) for name in ("run", "from")} if origin else None,
            "corrections": [[str(name) for name in changed] for changed in corrections or ()],
            "python_tools": {name: str(place) for name, place in (given or {}).items()},
            "workflow_text": str(redactor.json(journal.get("text") or "")),
            "worked_on": worked_on(journal),
            "refusals": {name: str(redactor.json(one["reason"])) for name, one in refusals.items()},
            "verdict": Verdict(**verdict) if (verdict := journal.get("verdict")) else None,
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise damaged_facts(journal, error) from error


def _last_answers(effects: Iterable[EffectSummary]) -> dict[str, EffectSummary]:
    """Return the last answer of a model below each key, with one pass over the effects."""
    answers: dict[str, EffectSummary] = {}
    for effect in effects:
        above = effect.row.key
        while effect.row.kind == "model" and effect.row.status == "done" and (above := above.rpartition("/")[0]):
            answers[above] = effect
    return answers
