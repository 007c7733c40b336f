"""Runs that the pages show: an ordinary one with every kind of effect, and one whose every text is hostile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.strands import Folder

GATE = {"type": "hitl", "prompt": "Publish it?", "validation": {"pattern": "yes|no"}}
ANSWER = """# What I found

The **hives** gave *32 jars*, see `orders.csv`:

| hive | jars |
| ---- | ---- |
| one  | 20   |
| two  | 12   |

1. A list
2. with a [link](https://example.com/)
"""
# Text that ends what it is in, runs, turns directions round, moves a terminal's cursor, and has no end.
HOSTILE = (
    "</pre></details></script><script>document.title = 'changed'</script>"
    "<img src=x onerror=\"document.title='changed'\">"
    " [run](javascript:document.title='changed') ![seen](http://example.com/seen.png)"
    " \x1b[31mred\x1b[2J \u202egnp.exe\u2066 \x00\x07 " + "W" * 3000
)
QUOTED = "a\"b' <i>&amp; .txt"
AGENTS = {"writer": {"prompt": "You write.", "tools": ["look"]}}


@contextmanager
def folder_in(root: Path) -> Iterator[Folder]:
    """Make a folder to work in with a tool that looks."""
    made = Folder(root)
    made.work.mkdir()
    made.site.mkdir()
    made.tool("look", "return answer('I see ' + tool['input']['text'])")
    yield made
    made.end_started()


def write_ordinary(folder: Folder, **sections: Any) -> Path:
    """Write a workflow with a model call, a tool call, a question for a person, and an artifact."""
    looks = [
        {"text": "I look first.", "calls": [{"look": {"text": "the hives"}}], "usage": [120, 18]},
        {"text": "There are 32.", "usage": [150, 4]},
    ]
    writes = [{"text": ANSWER, "usage": [310, 77]}]
    first = {"agent": "writer", "input": "How many jars of {{ what }}?"}
    last = {"agent": "writer", "input": "Write it up: {{ steps[0].response }}"}
    outputs = {"artifacts": [{"path": "answer.md", "from": "{{ last_response }}"}]}
    inputs = {"optional": {"what": {"type": "string", "default": "honey", "description": "What is counted"}}}
    more = {"name": "jars", "agents": AGENTS, "inputs": inputs, "outputs": outputs, **sections}
    return folder.workflow([first, GATE, last], {"steps.0": looks, "steps.2": writes}, **more)


def write_hostile(folder: Folder) -> Path:
    """Write a workflow whose prompt, arguments, result, answer, question and name of a file are hostile."""
    turns = [{"calls": [{"look": {"text": HOSTILE}}]}, {"text": HOSTILE}]
    gate = {"type": "hitl", "prompt": f"Publish {HOSTILE}?", "context_display": "{{ last_response }}"}
    steps = [{"agent": "writer", "input": f"Write {HOSTILE}"}, gate]
    outputs = {"artifacts": [{"path": QUOTED, "from": "{{ steps[0].response }}"}]}
    return folder.workflow(steps, {"steps.0": turns}, agents=AGENTS, name="hostile", outputs=outputs)


def run_id(folder: Folder, at: int = 0) -> str:
    """Return the id of a stored run, the newest first."""
    return str(folder.strands("runs", "list", "--json").document["runs"][at]["id"])
