from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.recording_writer import turn_of, write_recording
from strands_cli.errors import ArtifactError
from strands_cli.workflow.recording_file import RecordedCall, RecordedTurn, load_recording
from strands_cli.yaml_files.document_reader import read_document


def text(*pieces: str) -> list[dict[str, Any]]:
    deltas = [{"contentBlockDelta": {"delta": {"text": piece}}} for piece in pieces]
    return [{"contentBlockStart": {"start": {}}}, *deltas, {"contentBlockStop": {}}]


def use(name: str, *pieces: str) -> list[dict[str, Any]]:
    start = {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"id-{name}"}}}}
    deltas = [{"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}}} for piece in pieces]
    return [start, *deltas, {"contentBlockStop": {}}]


def stop(reason: str, sent: int = 3, answered: int = 4) -> list[dict[str, Any]]:
    usage = {"inputTokens": sent, "outputTokens": answered, "totalTokens": sent + answered}
    return [{"messageStop": {"stopReason": reason}}, {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}]


def test_a_turn_is_put_together_from_what_was_streamed() -> None:
    events = [{"messageStart": {"role": "assistant"}}, *text("Let me ", "see."), *use("a", '{"x"', ": [1]}"), *use("b")]
    assert turn_of([*events, *stop("tool_use")], "go") == RecordedTurn(
        "Let me see.", (RecordedCall("a", {"x": [1]}), RecordedCall("b", {})), "go", (3, 4)
    )


def test_a_turn_without_metadata_or_words_is_still_a_turn() -> None:
    assert turn_of([], "go") == RecordedTurn(when="go")
    assert turn_of(stop("end_turn", 0, 0), "go") == RecordedTurn(when="go")


def test_only_an_unusual_stop_reason_is_kept() -> None:
    assert turn_of([*text("x"), *stop("end_turn")], "").stop_reason is None
    assert turn_of([*use("a"), *stop("tool_use")], "").stop_reason is None
    assert turn_of([*text("x"), *stop("max_tokens")], "").stop_reason == "max_tokens"
    assert turn_of([*use("a"), *stop("end_turn")], "").stop_reason == "end_turn"


def test_reasoning_is_left_out() -> None:
    thinking = {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "hmm"}}}}
    assert turn_of([{"contentBlockStart": {"start": {}}}, thinking, *text("x")], "").text == "x"


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", '"x"', ""])
def test_arguments_that_are_no_object_become_none_as_in_the_sdk(arguments: str) -> None:
    assert turn_of(use("a", arguments), "").calls == (RecordedCall("a", {}),)


def test_a_recording_that_was_written_can_be_played(tmp_path: Path) -> None:
    calls = [
        ("steps.0/model.0", {"events": [*use("a", json.dumps({"path": "x"})), *stop("tool_use")]}, "go"),
        ("steps.0/model.1", {"events": [*text("line 1\nline 2\n"), *stop("end_turn")]}, "a: success"),
        ("steps.1/model.0", {"events": stop("end_turn")}, "x" * 10),
    ]
    write_recording(tmp_path / "r.yaml", calls, force=False)
    recording, findings = load_recording(read_document(tmp_path / "r.yaml"))
    assert findings == []
    assert recording is not None
    assert recording.steps == {
        "steps.0": (
            RecordedTurn(None, (RecordedCall("a", {"path": "x"}),), "go", (3, 4)),
            RecordedTurn("line 1\nline 2\n", (), "a: success", (3, 4)),
        ),
        "steps.1": (RecordedTurn("", (), "x" * 10, (3, 4)),),
    }
    with pytest.raises(ArtifactError) as raised:
        write_recording(tmp_path / "r.yaml", calls[:1], force=False)
    assert "--force" in str(raised.value.fix)
    write_recording(tmp_path / "r.yaml", calls[:1], force=True)
