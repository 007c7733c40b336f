"""The cases have every key of the format that a file of the earlier one can have, so that a new one gets a case too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from earlier_format.kit import CASES, COMPARED, KEYS, read_case, read_yaml

from tests.covers.kit import pointers_of_format

_NEW = re.compile(
    "/(loops|models|attachments)/|/tools_shown$|/(approvers|expires|on_expiry|delegate)$"
    "|^(?!/agents|/inputs|/outputs).*/answer$"
)
# What no workflow of the earlier format can use, and why.
WITHOUT_A_CASE = {
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
        "what its meaning is written out with",
    ),
    **{pointer: "the earlier format did not have it" for pointer in pointers_of_format() if _NEW.search(pointer)},
    "/pattern/config/on_reject": "the earlier format did not have it",
    "/outputs/overwrite": "the earlier format did not have it",
    "/tools/mcp/*/proxy": "the earlier format did not have it",
    "/tools/mcp/*/allow_private": "the earlier format did not have it",
}


def _keys_in(node: Any, tokens: list[str]) -> Iterator[Any]:
    """Yield what a pointer with `*` for any name or index finds."""
    if not tokens:
        yield node
        return
    token, *rest = tokens
    if token == "*":
        parts = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    else:
        parts = [node[token]] if isinstance(node, dict) and token in node else []
    for part in parts:
        yield from _keys_in(part, rest)


def test_the_cases_have_every_key_of_the_format() -> None:
    workflows = [read_yaml(read_case(path.stem)["workflow"]) for path in CASES.glob("*.yaml")]
    missing = {
        pointer
        for pointer in pointers_of_format()
        if not any(True for one in workflows for _ in _keys_in(one, pointer.strip("/").split("/")))
    }
    assert missing == WITHOUT_A_CASE.keys()


def test_the_cases_have_every_key_of_a_case() -> None:
    used = {key for path in CASES.glob("*.yaml") for key in read_case(path.stem)}
    assert used == KEYS | set(COMPARED)
