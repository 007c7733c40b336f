"""A stored run for `runs show`: the same summary as lines and as JSON."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.next_commands import waiting_lines
from strands_cli.cli.commands.run_lines.tree_lines import MOST, money, tree_lines
from strands_cli.cli.terminal_text import aligned, fitted, one_line, table, wrapped
from strands_cli.run_views.open_questions import answer_commands, command, questions_of
from strands_cli.texts.phrases import counted, duration, short_json, shortened, tool_calls, with_fix
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.engine.store_port import StoredJournal, StoredRun
    from strands_cli.engine.stored_runs.summary import EffectSummary, RunSummary
    from strands_cli.run_views.opened_runs import Branch


# A longer text is cut unless everything is asked for.
SHORT = 2000
# The indent of lines below the line of a run in a list.
_BELOW = 8
# The most characters of an input in the facts of a run.
_INPUT = 200


def run_document(run: StoredRun) -> dict[str, Any]:
    """Return a run as JSON; times are ISO 8601 in UTC."""
    return {
        **{name: getattr(run, name) for name in ("id", "workflow", "status")},
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at) if run.ended_at is not None else None,
        "pattern": run.command or run.pattern,
        **{name: getattr(run, name) for name in ("file", "reason")},
        "record": run.record,
    }


def summary_document(summary: RunSummary, *, full: bool) -> dict[str, Any]:
    """Return the effects of a run as JSON; `full` has the requests of models, and all answers."""
    from strands_cli.run_views.opened_runs import tree_of

    spent = summary.spent
    branches = {branch.key: branch for top in tree_of(summary) for branch in top.walk()}
    return {
        **run_document(summary.run),
        "seconds": summary.run.worked_s,
        "response": summary.response,
        "artifacts": [dict(artifact) for artifact in summary.artifacts],
        "models": list(summary.models),
        "usage": spent.usage.counts(),
        "model_calls": spent.model_calls,
        "tool_calls": spent.tool_calls,
        "cost_usd": spent.cost,
        "denials": [dataclasses.asdict(denial) for denial in summary.denials],
        "failed_calls": summary.failed_calls.number,
        "failures": [dataclasses.asdict(failure) for failure in summary.failed_calls.failures],
        **({} if summary.verdict is None else summary.verdict.as_dict()),
        "inputs": summary.inputs,
        "rerun_of": summary.origin,
        "corrections": summary.corrections,
        "given": summary.python_tools,
        "refusals": dict(summary.refusals),
        "unknown_ends": dict(summary.unknown_ends),
        "worked_on": None if summary.worked_on is None else dataclasses.asdict(summary.worked_on),
        "effects": [effect_document(branches[branch.row.key], summary, full=full) for branch in summary.effects],
    }


def effect_document(branch: Branch, summary: RunSummary, *, full: bool) -> dict[str, Any]:
    """Return one effect among others as JSON; a place without a row of its own has none."""
    effect = branch.effect
    if effect is None:
        return {}
    row = effect.row
    answer = summary.answers.get(row.key) if effect.error is not None and row.kind == "step" else None
    contents: dict[str, Any] = {}
    if row.is_step and row.status == "done":
        contents = {"response": effect.text, "output": effect.value}
    elif full:
        calls = [{"tool": tool, "arguments": arguments} for tool, arguments in effect.calls]
        contents = {"text": effect.text, "json": effect.value, "request": effect.asked, "calls": calls or None}
        contents |= {name: row.detail.get(name) for name in ("arguments", "called_with")}
    fields = {
        "error": effect.error,
        "damage": effect.damage,
        "model_answer": answer.text if answer else None,
        **contents,
    }
    return {
        **{name: getattr(row, name) for name in ("key", "kind", "status", "attempt")},
        "role": branch.kind,
        "state": branch.status,
        "who": branch.who,
        "parent": row.key.rpartition("/")[0] or None,
        "started_at": moment(row.started_at),
        "ended_at": moment(row.ended_at) if row.ended_at is not None else None,
        "tokens": row.usage.total_tokens,
        **({"estimated_tokens": row.usage.estimated_tokens} if row.usage.estimated_tokens else {}),
        "cost_usd": row.cost,
        "reused": effect.status == "reused",
        **{name: value for name, value in fields.items() if value is not None or name in ("response", "output")},
        **{name: row.detail[name] for name in ("decision", "rule") if name in row.detail},
    }


def fact_lines(summary: RunSummary) -> Iterator[str]:
    """Yield the lines with the facts of a run: its origin, its usage, why it did not complete, and its files."""
    for name, value in _facts(summary):
        first, *more = str(value).split("\n")
        yield f"{name + ':':10} {first}"
        yield from (f"{'':9} | {line}" for line in more if line)


def effects_lines(summary: RunSummary, *, columns: int | None, full: bool) -> Iterator[str]:
    """Yield the lines of the effects as a tree, the errors, and with `full` each request and answer."""
    from strands_cli.run_views.opened_runs import tree_of

    if summary.effects:
        yield from ["", *tree_lines(tree_of(summary), columns=columns, full=full)]
    for effect in summary.effects:
        if effect.error is not None and effect.row.kind == "step":
            yield from _failure(effect, summary, full=full)
    if full:
        for effect in summary.effects:
            yield from _contents(effect)


def answer_lines(summary: RunSummary, *, full: bool) -> Iterator[str]:
    """Yield the lines of the answer, which come last."""
    if summary.response is not None:
        yield from ["", *text_lines("answer:", summary.response, full=full)]


def _facts(summary: RunSummary) -> Iterator[tuple[str, Any]]:
    run, spent = summary.run, summary.spent
    cost = "cost unknown" if spent.cost is None else money(spent.cost)
    guessed = f" ({spent.usage.estimated_tokens} of them estimated)" if spent.usage.estimated_tokens else ""
    tokens = f"{spent.usage.input_tokens} tokens in, {spent.usage.output_tokens} out{guessed}"
    failed = summary.failed_calls
    calls = [counted(spent.model_calls, "model call"), tool_calls(spent.tool_calls, failed.number), tokens]
    unpriced = f"{counted(cut, 'model call')} cut off at a cost that is not known" if (cut := summary.cut_off) else ""
    yield "run", run.id
    yield "workflow", f"{run.workflow} ({run.pattern})"
    yield "file", run.file
    yield "status", run.status
    if run.reason is not None:
        yield "reason", run.reason
    if summary.verdict is not None and str(summary.verdict) != run.reason:
        yield "verdict", str(summary.verdict)
    if isinstance(summary.inputs, Mapping) and summary.inputs:
        yield "inputs", "\n".join(f"{name} = {_input(value)}" for name, value in summary.inputs.items())
    yield "started", moment(run.started_at)
    if length := duration_of(run):
        yield "duration", length
    if summary.models:
        yield "model", ", ".join(summary.models)
    yield "used", ", ".join(filter(None, [*calls, cost, unpriced]))
    yield "journal", run.record
    if summary.worked_on is not None and not summary.worked_on.is_known:
        yield "worked on", summary.worked_on.words
    if summary.origin:
        yield "rerun of", f"{summary.origin['run']} from {summary.origin['from']}"
    for changed in summary.corrections:
        yield "corrected", ", ".join(changed) or "nothing"
    if summary.python_tools:
        named = ", ".join(f"{name} (of {origin})" for name, origin in summary.python_tools.items())
        yield "tools", f"{named}; continue the run in that program, with Workflow.resume"
    for worker, reason in summary.refusals.items():
        yield "refused", f"by the worker {worker}: {reason}"
    for artifact in summary.artifacts:
        yield "wrote", f"{artifact['path']} ({artifact['size']} bytes)"
    for denial in summary.denials:
        yield "denied", f"{denial.tool} ({counted(denial.denied, 'call')}): {with_fix(denial.rule, denial.fix)}"
    for reason, count in summary.unknown_ends.items():
        yield "warning", f"{counted(count, 'answer')} ended with {reason!r}, which is not known here"
    refused = {(denial.tool, denial.rule) for denial in summary.denials}
    for failure in failed.failures:
        if failure.code != "denied" and (failure.tool, failure.reason) not in refused:
            reason = f"{failure.code}: {with_fix(failure.reason, failure.fix)}"
            yield "failed", f"{failure.tool} ({counted(failure.failed, 'call')}): {reason}"


def _input(value: Any) -> str:
    return shortened(one_line(value), _INPUT) if isinstance(value, str) else short_json(value, _INPUT)


def _failure(effect: EffectSummary, summary: RunSummary, *, full: bool) -> Iterator[str]:
    yield ""
    yield from text_lines(f"failed: {effect.row.key}", effect.error or "", full=full)
    answer = summary.answers.get(effect.row.key)
    if answer is not None:
        yield from text_lines(f"the last answer of its model, {answer.row.key}:", answer.text or "(no text)", full=full)
        yield from map(_call, answer.calls)


def _contents(effect: EffectSummary) -> Iterator[str]:
    """Yield the request and the answer of an effect."""
    parts = [("asked:", effect.asked), ("answered:", effect.text)]
    if "called_with" in effect.row.detail:
        parts.insert(0, ("called with:", json.dumps(effect.row.detail["called_with"], ensure_ascii=False)))
    if effect.value is not None:
        parts.append(("json:", json.dumps(effect.value, ensure_ascii=False, indent=2, default=str)))
    parts = [(title, text) for title, text in parts if text]
    if not parts and not effect.calls:
        return
    yield from ["", f"{effect.row.key} ({effect.row.kind})"]
    for title, text in parts:
        yield from text_lines(f"  {title}", str(text))
    yield from map(_call, effect.calls)


def _call(call: tuple[str, Any]) -> str:
    return one_line(f"  called: {call[0]} {json.dumps(call[1], ensure_ascii=False, default=str)}")


def text_lines(title: str, text: str, *, full: bool = True) -> Iterator[str]:
    """Yield a title and the lines of a text, each marked, so that none looks like a line of ours."""
    text_part = text if full or len(text) <= SHORT else text[:SHORT]
    yield one_line(title)
    yield from (f"  | {line}" for line in text_part.rstrip("\n").split("\n"))
    if len(text_part) < len(text):
        yield f"  ({len(text)} characters in all; --full shows them)"


def run_lines(runs: Sequence[StoredRun], inputs: Mapping[str, str], columns: int | None) -> list[str]:
    """Return the table of runs; at a terminal the inputs of a run, and why it did not complete, are below its line.

    Args:
        inputs: Those of runs, short, by their ids.
        columns: Of the terminal; None outside a terminal, where each run is one line.
    """
    heads = ("RUN", "STATUS", "STARTED", "DURATION", "WORKFLOW")
    cells = [(run.id, run.status, moment(run.started_at), duration_of(run), run.workflow) for run in runs]
    reasons = [" ".join((run.reason or "").split()) for run in runs]
    if columns is None:
        further = [("INPUTS", *(inputs.get(run.id, "") for run in runs)), ("REASON", *reasons)]
        present = [column for column in further if any(column[1:])]
        return aligned(list(zip(*zip(*[heads, *cells], strict=True), *present, strict=True)))
    lines, below = table([heads, *cells]), " " * _BELOW
    fitted_lines = [lines[0]]
    for line, run, reason in zip(lines[1:], runs, reasons, strict=True):
        fitted_lines.append(line)
        if inputs_text := printable(inputs.get(run.id, "")):
            fitted_lines.append(fitted(below + inputs_text, columns)[0])
        if reason:
            fitted_lines += wrapped(f"{below}{printable(reason)}", columns, below)
    return fitted_lines


def moment(seconds: float) -> str:
    """Return a time as ISO 8601 in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def duration_of(run: StoredRun) -> str:
    """Return how long the processes of a run worked on it; the time in which it waited does not count.

    Of a process that was killed, the journal has only when it last wrote.
    """
    if run.worked_s is None or run.status == "running":
        return ""
    was_killed = run.status == "interrupted" and run.ended_at is None
    return ("at least " if was_killed else "") + duration(run.worked_s)


# The lines below the effects of a shown run: questions, the answer, and the commands that tell more or go on.


def end_lines(summary: RunSummary, journal: StoredJournal, *, full: bool) -> list[str]:
    """Return the lines below the effects: questions, the answer, and the commands that tell more or go on."""
    run, store_place = summary.run, journal.place
    ways = answer_commands(journal)
    lines: list[str] = []
    for question in questions_of(journal):
        lines += ["", *waiting_lines(question)]
    lines += answer_lines(summary, full=full)
    more = []
    if run.status == "running":
        more.append(f"as it goes on: {command('runs', 'show', run.id, '--follow', store=store_place)}")
    if run.status == "interrupted" or (run.status == "waiting" and not ways):
        more.append(f"to continue it: {command('resume', run.id, store=store_place)}")
    if not full and len(summary.effects) > MOST:
        more.append(
            f"all {len(summary.effects)} effects: {command('runs', 'show', run.id, '--full', store=store_place)}"
        )
    elif not full and run.status != "completed" and summary.spent.model_calls:
        more.append(f"what was asked and answered: {command('runs', 'show', run.id, '--full', store=store_place)}")
    if summary.effects and not full:
        example = _example(summary)
        more.append(f"one effect as a whole, such as: {command('runs', 'show', run.id, example, store=store_place)}")
    return [*lines, *([""] if more else []), *more, *([""] if ways else []), *ways]


def _example(summary: RunSummary) -> str:
    """Return the key that a person is likeliest to want: of a failed effect, or of the last answer."""
    rows = [effect.row for effect in summary.effects]
    failed = [effect.row.key for effect in summary.effects if effect.error or effect.tool_error]
    return (failed or [row.key for row in rows if row.kind == "model"] or [row.key for row in rows])[-1]
