"""Recordings: the turns of a model by step, in YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from strands_cli.errors import Code, Finding
from strands_cli.quick_dataclass import dataclass
from strands_cli.yaml_files.document import Document, escape

BAD_RECORDING = Code(
    "bad-recording",
    "A recording for provider `replay` is malformed.",
    "Correct it, or record again: `strands run SPEC --record FILE`.",
)

VERSION = 1
_TURN_KEYS = ("when", "text", "calls", "usage", "stop_reason")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call that the model asked for."""

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One answer of a model: text, tool calls or both.

    `when` is the end of the request it answers (its text, or `tool: status` lines), None to accept any request;
    `usage` is (input, output) tokens.
    """

    text: str | None = None
    calls: tuple[RecordedCall, ...] = ()
    when: str | None = None
    usage: tuple[int, int] = (0, 0)
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """The turns of every step, by step key (`steps.0`)."""

    steps: Mapping[str, tuple[RecordedTurn, ...]]


def same_request(recorded: str, actual: str) -> bool:
    """Return whether a request is the recorded one; line breaks and runs of spaces do not count.

    A recorded text that ends in `...` needs to match only as far as it goes.
    """
    recorded_text, actual_text = " ".join(recorded.split()), " ".join(actual.split())
    if recorded_text.endswith("..."):
        return actual_text.startswith(recorded_text[:-3].rstrip())
    return recorded_text == actual_text


def load_recording(document: Document) -> tuple[Recording | None, list[Finding]]:
    """Read a recording; every problem is a finding with its place."""
    reader = _Reader(document)
    steps = reader.read()
    return (None if reader.findings else Recording(steps)), reader.findings


class _Reader:
    """Walks the document once and collects findings on the way."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.findings: list[Finding] = list(document.findings)

    def read(self) -> dict[str, tuple[RecordedTurn, ...]]:
        value = self._document.value
        if not isinstance(value, dict) or "recording" not in value or "steps" not in value:
            self._report("", "a recording has the keys `recording: 1` and `steps`")
            return {}
        if type(value["recording"]) is not int or value["recording"] != VERSION:
            self._report("/recording", f"this version reads `recording: {VERSION}`, not {value['recording']!r}")
        for unknown in value.keys() - {"recording", "steps"}:
            self._report(f"/{escape(unknown)}", f"a recording has no key {unknown!r}; it has `recording` and `steps`")
        steps = value["steps"]
        if not isinstance(steps, dict):
            self._report("/steps", "`steps` maps each step key (`steps.0`) to a list of turns")
            return {}
        return {key: self._turns(f"/steps/{escape(key)}", turns) for key, turns in steps.items()}

    def _turns(self, pointer: str, turns: Any) -> tuple[RecordedTurn, ...]:
        if not isinstance(turns, list):
            self._report(pointer, "the turns of a step are a list")
            return ()
        return tuple(self._turn(f"{pointer}/{index}", turn) for index, turn in enumerate(turns))

    def _turn(self, pointer: str, turn: Any) -> RecordedTurn:
        if not isinstance(turn, dict) or (turn.get("text") is None and not turn.get("calls")):
            self._report(pointer, "a turn has `text`, `calls` or both")
            return RecordedTurn()
        for unknown in [key for key in turn if key not in _TURN_KEYS]:
            key_names = ", ".join(_TURN_KEYS)
            self._report(f"{pointer}/{escape(unknown)}", f"a turn has no key {unknown!r}; it has {key_names}")
        for name in ("text", "when", "stop_reason"):
            if turn.get(name) is not None and not isinstance(turn[name], str):
                self._report(f"{pointer}/{name}", f"`{name}` is a text; put it in quotes")
        return RecordedTurn(
            text=turn.get("text"),
            calls=self._calls(f"{pointer}/calls", turn.get("calls")),
            when=turn.get("when"),
            usage=self._usage(f"{pointer}/usage", turn.get("usage")),
            stop_reason=turn.get("stop_reason"),
        )

    def _calls(self, pointer: str, calls: Any) -> tuple[RecordedCall, ...]:
        if calls is None:
            return ()
        if not isinstance(calls, list):
            self._report(pointer, "`calls` is a list of `tool: {input}`")
            return ()
        read: list[RecordedCall] = []
        for index, call in enumerate(calls):
            if isinstance(call, dict) and len(call) == 1:
                ((tool, arguments),) = call.items()
                if isinstance(tool, str) and isinstance(arguments, dict):
                    read.append(RecordedCall(tool, arguments))
                    continue
            self._report(f"{pointer}/{index}", "a call is one tool name with its input: `file_read: {path: a.txt}`")
        return tuple(read)

    def _usage(self, pointer: str, usage: Any) -> tuple[int, int]:
        if usage is None:
            return 0, 0
        if isinstance(usage, list) and len(usage) == 2 and all(type(n) is int and n >= 0 for n in usage):
            return usage[0], usage[1]
        self._report(pointer, "`usage` is `[input tokens, output tokens]`")
        return 0, 0

    def _report(self, pointer: str, message: str) -> None:
        fix = "see `strands explain recordings`, or make one with `strands run SPEC --record FILE`"
        self.findings.append(Finding(BAD_RECORDING, message, self._document.where(pointer, key=True), fix))


# PyYAML quotes texts that look like numbers of YAML 1.1; YAML 1.2 has more of them, such as 0E0.
_LIKE_A_NUMBER = re.compile(r"[-+]?\.?[0-9]")


def dump_recording(steps: Mapping[str, Sequence[RecordedTurn]]) -> str:
    """Return a recording as YAML text, long texts as blocks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True  # anchors are for writers of YAML, not for readers of recordings

    def as_block(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        # These are line breaks in YAML 1.1, which folds them; in double quotes they are escapes.
        folded = any(mark in text for mark in "\x85\u2028\u2029")
        style = '"' if folded or _LIKE_A_NUMBER.match(text) else "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, as_block)
    plain = {"recording": VERSION, "steps": {key: [_plain(turn) for turn in turns] for key, turns in steps.items()}}
    return yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)


def _plain(turn: RecordedTurn) -> dict[str, Any]:
    """Return a turn as in a file, without empty fields."""
    plain: dict[str, Any] = {}
    if turn.when is not None:
        plain["when"] = turn.when
    if turn.text is not None or not turn.calls:
        plain["text"] = turn.text or ""
    if turn.calls:
        plain["calls"] = [{call.tool: dict(call.input)} for call in turn.calls]
    if turn.usage != (0, 0):
        plain["usage"] = list(turn.usage)
    if turn.stop_reason is not None:
        plain["stop_reason"] = turn.stop_reason
    return plain
