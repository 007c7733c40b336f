"""Every field of the workflow format occurs in an example, but for those that say here why not."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.cli.strands import EXAMPLES
from tests.covers.kit import pointers_of_format
from tests.examples.kit import WORKFLOWS, document

DOCUMENTS = [document(EXAMPLES / name) for name in WORKFLOWS]
# A step has the same fields at every place, so one example of each field is enough, and one of each place.
PLACES = (
    "steps/*",
    "tasks/*",
    "routes/*/then/*",
    "branches/*/steps/*",
    "nodes/*",
    "reduce",
    "writeup",
    "router/review_router",
    "router",
    "evaluator",
    "orchestrator",
    "review_gate",
    "decomposition_review",
    "reduce_review",
)
FIELDS = (
    "agent",
    "input",
    "vars",
    "tool_overrides/*/tool",
    "tool_overrides/*/as",
    "tool_overrides/*/config",
    "tool",
    "on_error",
    "type",
    "prompt",
    "context_display",
    "default",
    "timeout_seconds",
    "validation/pattern",
    "answer",
    "approvers",
    "expires",
    "on_expiry",
    "delegate",
    "attachments/*/path",
    "attachments/*/type",
)
STEP = re.compile(f"/pattern/config/({'|'.join(map(re.escape, PLACES))})/({'|'.join(map(re.escape, FIELDS))})")
_AS_MIGRATED = "what a file of an earlier program needs to mean the same; `strands workflows migrate` writes it"
_ANOTHER_FORM = "in place of a token, which an example has; the page on executors has each form"
LEFT_OUT = {
    **dict.fromkeys(
        (
            "/agents/*/input_schema_for",
            "/context_policy/memory",
            "/context_policy/prompt_end",
            "/context_policy/retrieval/replaces_tools",
            "/context_policy/skills_in_prompts",
            "/env/take_variables",
            "/inputs/absent",
            "/inputs/allow_undeclared",
            "/inputs/keep_texts",
            "/outputs/plain_paths",
            "/pattern/config/all_nodes",
            "/pattern/config/last_response",
            "/rendering/completed",
            "/rendering/control_characters",
            "/tools/mcp_folder",
        ),
        _AS_MIGRATED,
    ),
    **{f"/tools/http_executors/*/auth/{one}": _ANOTHER_FORM for one in ("username", "password", "name", "value")},
    "/tools/mcp/*/proxy": "an example would need a proxy beside its server",
    "/tools/mcp/*/allow_private": "an example would need a name of the private network, which runs nowhere else",
    "/inputs/required/*/default": "a required input never takes its default, and a warning says so",
    **{
        f"/{of}/models/*/{name}": "a recording plays no model that can be down; the page on providers has each form"
        for of in ("runtime", "agents/*")
        for name in (
            *("model", "provider", "model_id", "host", "region", "options", "on"),
            *("temperature", "top_p", "max_tokens"),
        )
    },
    "/pattern/config/worker_template/tools/*/as": "as in every other list of tools",
    "/pattern/config/worker_template/tools/*/config": "as in every other list of tools",
}


def occurs(node: Any, tokens: list[str]) -> bool:
    """Return whether a document has what a pointer names, `*` for any name or index."""
    if not tokens:
        return True
    token, *rest = tokens
    if token == "*":
        parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return any(occurs(part, rest) for part in parts)
    if isinstance(node, str):
        return token in ("tool", "type") and not rest  # the short forms of a tool and of an input
    return isinstance(node, dict) and token in node and occurs(node[token], rest)


def is_shown(pointer: str) -> bool:
    return any(occurs(one, pointer.strip("/").split("/")) for one in DOCUMENTS)


def missing(pointers: set[str]) -> list[str]:
    """Return what no example has: fields, and of the steps places and fields."""
    steps = {pointer: found for pointer in pointers if (found := STEP.fullmatch(pointer))}
    places = {f"/pattern/config/{found[1]}" for found in steps.values()}
    fields = {found[2]: [f"/pattern/config/{place}/{found[2]}" for place in PLACES] for found in steps.values()}
    alone = [pointer for pointer in (pointers - steps.keys()) | places if not is_shown(pointer)]
    return sorted([*alone, *(name for name, anywhere in fields.items() if not any(map(is_shown, anywhere)))])


def test_every_field_of_the_format_occurs_in_an_example() -> None:
    assert missing(pointers_of_format() - LEFT_OUT.keys()) == []


def test_what_is_left_out_is_a_field_that_no_example_has() -> None:
    assert pointers_of_format() >= LEFT_OUT.keys()
    assert [pointer for pointer in LEFT_OUT if is_shown(pointer)] == []


@pytest.mark.parametrize("pointer", ["/runtime/none", "/pattern/config/reduce/none", "/agents/*/tools/*/none"])
def test_a_field_that_no_example_has_is_missed(pointer: str) -> None:
    assert missing({pointer}) == [pointer]


def test_a_place_and_a_field_of_steps_are_missed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = {"pattern": {"config": {"steps": [{"agent": "a", "vars": {}}]}}}
    monkeypatch.setattr(f"{__name__}.DOCUMENTS", [chain])
    asked = {"/pattern/config/reduce/vars", "/pattern/config/steps/*/vars", "/pattern/config/steps/*/input"}
    assert missing(asked) == ["/pattern/config/reduce", "input"]
