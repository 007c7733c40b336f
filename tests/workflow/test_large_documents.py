"""A document has a limit of values, beyond which it is refused where they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strands_cli.errors import InvalidInput
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document

# Many made-up values take seconds.
pytestmark = pytest.mark.hostile


def test_a_document_with_too_many_values_is_refused_at_its_line() -> None:
    text = "items:\n" + "".join(f"  - [{', '.join('0' * 999)}]\n" for _ in range(201))
    with pytest.raises(InvalidInput) as refused:
        read_document("flow.yaml", text)
    (finding,) = refused.value.findings
    assert finding.where is not None
    assert (finding.code, finding.where.line) == ("document-too-large", 201)


SMALL: dict[str, Any] = {
    "version": 2,
    "name": "large",
    "runtime": {"provider": "ollama", "model_id": "m"},
    "agents": {"writer": {"prompt": "p", "tools": []}},
    "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "go"}]}},
}
CALL = {"tool": "native:calculator", "input": {"expression": "1"}}
LARGE: dict[str, dict[str, Any]] = {
    "/agents": {"agents": {f"a{n}": {"prompt": "p"} for n in range(2001)}},
    "/inputs/optional": {"inputs": {"optional": {f"x{n}": "string" for n in range(2001)}}},
    "/inputs/required": {"inputs": {"required": [f"x{n}" for n in range(2001)]}},
    "/inputs/values": {"inputs": {"values": {f"x{n}": n for n in range(2001)}}},
    "/env/secrets": {"env": {"secrets": [{"key": f"K{n}"} for n in range(1001)]}},
    "/outputs/artifacts": {"outputs": {"artifacts": [{"path": f"p{n}", "from": "x"} for n in range(1001)]}},
    "/tools/mcp": {"tools": {"mcp": [{"id": f"m{n}", "command": "x"} for n in range(1001)]}},
    "/tools/composite/0/steps": {"tools": {"composite": [{"id": "c", "description": "d", "steps": [CALL] * 1001}]}},
    "/agents/writer/tools": {"agents": {"writer": {"prompt": "p", "tools": [f"native:t{n}" for n in range(1001)]}}},
}


@pytest.mark.parametrize("pointer", LARGE)
def test_a_list_that_is_too_long_is_refused_where_it_is_written(pointer: str) -> None:
    loaded = load_spec(read_document("flow.json", json.dumps({**SMALL, **LARGE[pointer]}, indent=1)))
    (finding,) = loaded.findings
    assert finding.where is not None
    assert (finding.code, finding.where.pointer) == ("document-too-large", pointer)
    assert " entries, and " in finding.message
