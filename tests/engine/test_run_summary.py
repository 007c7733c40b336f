"""What a stored run is shown as."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from strands_cli.cli.commands.run_lines.summary_lines import summary_document
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.summary import EffectSummary, summary_of

STEPS = 20


class Counted(list[EffectSummary]):
    passes = 0

    def __iter__(self) -> Iterator[EffectSummary]:
        self.passes += 1
        return super().__iter__()


def test_the_last_answers_of_many_failed_steps_are_found_in_one_pass(tmp_path: Path) -> None:
    with contextlib.closing(SqliteJournal.create(tmp_path / "run")) as journal:

        async def fill() -> None:
            for number in range(STEPS):
                step = f"steps.{number}"
                answer = {"events": [{"contentBlockDelta": {"delta": {"text": f"answer {number}"}}}]}
                journal.note(Row(step, "step", "failed", "d", detail={"error": "no"}))
                journal.note(Row(f"{step}/tool.0.x/model.0", "model", "done", "d", output=answer))
                journal.note(Row(f"{step}/tool.0.x/model.1", "model", "failed", "d"))

        asyncio.run(fill())
        journal.put(file="f", base_dir=str(tmp_path), status="failed", started_at=1.0)
        summary = summary_of(journal)
        effects = Counted(summary.effects)
        document = summary_document(replace(summary, effects=effects), full=False)
    failed = [one for one in document["effects"] if one["kind"] == "step"]
    assert [one["model_answer"] for one in failed] == [f"answer {number}" for number in range(STEPS)]
    assert effects.passes == 3, "one for the tree, and one for the answers whose end is not known"
