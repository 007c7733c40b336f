"""Runs workflows whose tools are made of tools, with recorded models, as often as a test wants to go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from strands_cli.engine.plan_execution import RunResult
from strands_cli.events import Event
from strands_cli.planning.run_request import RunRequest
from tests.agents.kit import SCHEMA, Site
from tests.agents.resumable import going
from tests.yaml_texts import write_yaml

YES = RunRequest(out_dir=Path("out"), yes=True)
# Leaves a line for each call that is really made; on request it kills the whole process, once.
MARK = f"""
import os, pathlib, signal
TOOL_SPEC = {{'name': 'mark', 'description': 'M.', 'inputSchema': {{'json': {SCHEMA!r}}}}}
def mark(tool, **kwargs):
    text = tool['input']['text']
    with open('made', 'a') as file:
        file.write(text + '\\n')
    if text == 'die' and pathlib.Path('armed').exists():
        os.unlink('armed')
        os.kill(os.getpid(), signal.SIGKILL)
    if text == 'fail' and not pathlib.Path('mended').exists():
        raise ValueError('it broke')
    return {{'status': 'success', 'content': [{{'text': 'marked ' + text}}, {{'json': {{'n': len(text)}}}}]}}
"""
TWICE = """
composite:
  - id: twice
    description: Marks two texts.
    input_schema:
      {type: object, properties: {text: {type: string}, more: {type: string, default: and}}, required: [text]}
    steps:
      - {tool: native:mark, input: {text: "{{ text }}"}, save_as: first}
      - {tool: native:mark, input: {text: "{{ more }}"}}
"""
SUB = """
version: 2
name: Sub
description: Writes about a topic.
runtime: {provider: replay, recording: sub.recording.yaml}
inputs: {required: {topic: string}, optional: {length: {type: integer, default: 3}}}
agents: {writer: {prompt: "About {{ topic }}.", tools: [native:mark]}}
pattern: {type: chain, config: {steps: [{agent: writer, input: "{{ length }} lines on {{ topic }}"}]}}
"""


def write(name: str, text: str | Mapping[str, Any]) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else write_yaml(text))


def record(turns: Mapping[str, Sequence[Mapping[str, Any]]], name: str = "r.yaml") -> None:
    """Write a recording."""
    write(name, {"recording": 1, "steps": {key: list(listed) for key, listed in turns.items()}})


def flow(steps: str, *, agents: str = "{lead: {prompt: lead}}", tools: str = "{}", rest: str = "") -> str:
    """Return a workflow with recorded models; `tools` is YAML, in a block or in braces."""
    section = f"tools: {tools}" if tools.startswith("{") else "tools:" + tools.replace("\n", "\n  ")
    return (
        f"version: 2\nname: t\nruntime: {{provider: replay, recording: r.yaml}}\nagents: {agents}\n{section}\n{rest}\n"
        f"pattern: {{type: chain, config: {{steps: [{steps}]}}}}\n"
    )


def go(site: Site, text: str, events: list[Event] | None = None, options: RunRequest = YES) -> RunResult:
    """Run a workflow, or go on with the run that stopped."""
    return going(site, text, options=options, events=events)


def made() -> list[str]:
    """Return what was really marked, in order."""
    return Path("made").read_text().split() if Path("made").exists() else []


def die_once(site: Site, text: str) -> None:
    """Run a workflow in a child of this process, which the marking tool kills."""
    Path("armed").touch()
    child = os.fork()
    if child == 0:
        try:
            go(site, text)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"it did not die: {status}"
    assert os.WTERMSIG(status) == signal.SIGKILL
