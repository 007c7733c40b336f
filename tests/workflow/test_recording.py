from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.workflow.recording_file import (
    RecordedCall,
    RecordedTurn,
    Recording,
    dump_recording,
    load_recording,
    same_request,
)
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording

# What YAML can write and JSON can hold: no lone surrogates, no NaN.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
names = st.from_regex(r"[a-zA-Z0-9_-]{1,9}", fullmatch=True)
calls = st.builds(RecordedCall, names, st.dictionaries(texts, values, max_size=3))
turns = st.builds(
    RecordedTurn,
    text=texts | st.none(),
    calls=st.lists(calls, max_size=2).map(tuple),
    when=texts | st.none(),
    usage=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
    stop_reason=st.sampled_from([None, "max_tokens", "end_turn"]),
).filter(lambda turn: turn.text is not None or turn.calls)
keys = st.from_regex(r"[a-z]{1,5}(\.[a-z0-9#]{1,5})?", fullmatch=True)
recordings = st.dictionaries(keys, st.lists(turns, max_size=2), max_size=3)


def load(text: str) -> Recording:
    recording, findings = load_recording(read_document("r.yaml", text))
    assert findings == [], "\n".join(map(str, findings))
    assert recording is not None
    return recording


@settings(max_examples=60, deadline=None)
@given(recordings)
def test_a_recording_that_is_dumped_and_loaded_is_the_same(steps: dict[str, list[RecordedTurn]]) -> None:
    assert load(dump_recording(steps)).steps == {key: tuple(turns) for key, turns in steps.items()}


@pytest.mark.parametrize(
    "text",
    [
        "a\x85b",
        "\u2028",
        "a\u2029\nb",
        "a\r\nb",
        "\ta",
        "a \nb",
        " a",
        "a:\n",
        "- a",
        "yes",
        "1",
        "",
        "\n",
        "#",
        "\x07",
    ],
)
def test_texts_that_yaml_would_change_survive(text: str) -> None:
    turn = RecordedTurn(text, (RecordedCall("a", {text: text}),), text)
    assert load(dump_recording({"steps.0": [turn]})).steps == {"steps.0": (turn,)}


def test_a_dump_is_text_that_a_person_can_read() -> None:
    arguments = {"lines": ["a", "a"]}
    both = (RecordedCall("file_write", arguments), RecordedCall("file_write", arguments))
    turns = [RecordedTurn("two\nlines\n", both, "go", (1, 2)), RecordedTurn("end"), RecordedTurn()]
    assert dump_recording({"steps.0": turns}) == (
        "recording: 1\n"
        "steps:\n"
        "  steps.0:\n"
        "  - when: go\n"
        "    text: |\n"
        "      two\n"
        "      lines\n"
        "    calls:\n"
        "    - file_write:\n"
        "        lines:\n"
        "        - a\n"
        "        - a\n"
        "    - file_write:\n"
        "        lines:\n"
        "        - a\n"
        "        - a\n"
        "    usage:\n"
        "    - 1\n"
        "    - 2\n"
        "  - text: end\n"
        "  - text: ''\n"
    )


BAD: dict[str, tuple[int, str | None]] = {
    "[]": (1, "`recording: 1`"),
    "steps: {}": (1, "`recording: 1`"),
    "recording: 1": (1, "`recording: 1`"),
    "recording: 2\nsteps: {}": (1, "2"),
    "recording: true\nsteps: {}": (1, "True"),
    "recording: 1\nsteps: {}\nmore: 1": (3, "'more'"),
    "recording: 1\nsteps: []": (2, "`steps.0`"),
    "recording: 1\nsteps:\n  steps.0: hello": (3, None),
    "recording: 1\nsteps:\n  steps.0:\n    - hello": (4, "`calls`"),
    "recording: 1\nsteps:\n  steps.0:\n    - {}": (4, "`calls`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text:": (4, "`calls`"),
    "recording: 1\nsteps:\n  steps.0:\n    - calls: []": (4, "`calls`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: x\n      txt: y": (5, "'txt'"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: 42": (4, "`text`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: x\n      when: [a]": (5, "`when`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: x\n      stop_reason: 1": (5, "`stop_reason`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: x\n      usage: 3": (5, "`usage`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: x\n      usage: [1, -1]": (5, "`usage`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: x\n      usage: [1, true]": (5, "`usage`"),
    "recording: 1\nsteps:\n  steps.0:\n    - text: x\n      calls: file_read": (5, "`calls`"),
    "recording: 1\nsteps:\n  steps.0:\n    - calls:\n      - file_read": (5, "`file_read: {path: a.txt}`"),
    "recording: 1\nsteps:\n  steps.0:\n    - calls:\n      - file_read: a.txt": (5, "`file_read: {path: a.txt}`"),
    "recording: 1\nsteps:\n  steps.0:\n    - calls:\n      - {a: {}, b: {}}": (5, "`file_read: {path: a.txt}`"),
}


@pytest.mark.parametrize("text", BAD)
def test_each_bad_shape_is_found_at_its_line(text: str, wording: Wording) -> None:
    recording, findings = load_recording(read_document("r.yaml", text))
    line, named = BAD[text]
    assert recording is None
    (finding,) = findings
    assert (finding.code, finding.severity) == ("bad-recording", "error")
    assert named is None or named in finding.message
    wording(finding.message)
    assert finding.where is not None
    assert (finding.where.file, finding.where.line) == ("r.yaml", line)
    assert "strands explain recordings" in str(finding.fix)


def test_all_faults_are_found_at_once() -> None:
    text = "recording: 3\nx: 1\nsteps:\n  a:\n    - text: 1\n    - {}\n  b: 2\n"
    _, findings = load_recording(read_document("r.yaml", text))
    assert sorted(finding.where.line for finding in findings if finding.where) == [1, 2, 5, 6, 7]


def test_a_turn_that_yaml_itself_would_drop_is_not_lost_in_silence() -> None:
    text = "recording: 1\nsteps:\n  a: [{text: one}]\n  a: [{text: two}]\n"
    recording, findings = load_recording(read_document("r.yaml", text))
    assert recording is None
    assert [finding.code for finding in findings] == ["duplicate-key"]


@pytest.mark.parametrize(
    ("recorded", "actual", "same"),
    [
        ("go", "go", True),
        ("go", "went", False),
        ("a  b\n c", "a b c\n", True),
        ("go", "go on", False),
        ("go...", "go on", True),
        ("go on ...", "go on and on", True),
        ("go on...", "go", False),
        ("...", "anything", True),
        ("", "", True),
        ("", "x", False),
    ],
)
def test_requests_are_compared_without_regard_to_line_breaks(recorded: str, actual: str, same: bool) -> None:
    assert same_request(recorded, actual) is same


def test_the_quickstarts_recording_is_one() -> None:
    path = Path(__file__).parent.parent.parent / "examples" / "quickstart.recording.yaml"
    recording, findings = load_recording(read_document(path))
    assert findings == []
    assert recording is not None
    assert [len(turns) for turns in recording.steps.values()] == [3, 1]


def test_the_recordings_of_the_reference_page_can_be_loaded() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "reference" / "recordings.md"
    blocks: list[Any] = page.read_text(encoding="utf-8").split("```yaml\n")[1:]
    texts = [block.partition("```")[0] for block in blocks]
    whole = [text for text in texts if text.startswith("recording:")]
    assert whole
    for text in whole:
        load(text)
