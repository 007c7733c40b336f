"""Every example is valid, can be planned, and runs offline."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from tests.cli.strands import EXAMPLES
from tests.examples.kit import ENVIRONMENT, REFUSES, WARNS, WORDS, WORKFLOWS, Shop
from tests.fakes.http_service import HttpService
from tests.yaml_texts import read_yaml

pytestmark = pytest.mark.docs


def test_an_executor_asks_with_its_key(shop: Shop, hives_service: HttpService) -> None:
    shop.folder.trusts_every_workflow()
    ran = shop.folder.strands("run", "examples/http-executor.yaml", "--events", "-")
    assert [(asked.path, asked.headers["authorization"]) for asked in hives_service.asked] == [
        ("/v1/hives?min_kg=40", "Bearer a-key-for-the-hives")
    ]
    assert "lime tree" in ran.out
    assert "a-key-for-the-hives" not in ran.out + ran.err


SERVED = {"http-executor.yaml": "hives_service", "mcp/shelf-over-http.yaml": "shelf_service"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_an_example_is_valid_can_be_planned_and_runs(name: str, shop: Shop, request: pytest.FixtureRequest) -> None:
    if name in SERVED:
        request.getfixturevalue(SERVED[name])
    spec = f"examples/{name}"
    checked = shop.look("validate", spec)
    assert checked.code == 0, checked.err
    planned = shop.look("plan", spec, *(word for word in WORDS.get(name, []) if word != "--detach"))
    assert planned.code == 0, planned.err
    assert re.findall(r"^(?:warning|error)\[(.*?)\]", planned.err, re.M) == WARNS.get(name, [])
    ran = shop.run(name)
    assert ran.code == 0, ran.err
    assert ran.document["response"].strip()
    assert "agent-loop" not in ran.err, "honest work is no loop"
    document = read_yaml((EXAMPLES / name).read_text("utf-8"))
    assert bool(shop.asked) == asks(document), shop.asked
    assert ("denied" in ran.err) == (name in REFUSES)
    for artifact in document.get("outputs", {}).get("artifacts", []):
        assert (shop.work / "artifacts" / artifact["path"].replace("{{ team }}", "garden")).exists()


def asks(document: Any) -> bool:
    """Return whether somewhere in a workflow a person is asked."""
    if isinstance(document, list):
        return any(map(asks, document))
    if not isinstance(document, dict):
        return False
    return document.get("type") == "hitl" or bool(document.get("ask")) or any(map(asks, document.values()))


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(("answer", "written"), [("", "closed on Friday"), ("no", "No notice today.")])
def test_what_a_person_answers_decides_what_is_written(answer: str, written: str, shop: Shop) -> None:
    with shop.folder.terminal("run", "examples/approve-and-write.yaml", "--allow", "file_write") as terminal:
        terminal.wait_for(r"\? Put this notice up\? \(yes or no\)")
        terminal.wait_for(r"closed on Friday")
        terminal.wait_for(r"answer \[yes\]: $")
        terminal.type(f"{answer}\n")
        assert terminal.end() == 0
    assert written in (shop.work / "notice.md").read_text()


def test_every_way_to_name_a_tool_has_an_example() -> None:
    names = {path.name for path in (EXAMPLES / "tool-names").glob("*.yaml")}
    assert {"short.yaml", "native.yaml", "legacy.yaml", "mixed.yaml"} <= names


def test_no_example_shows_its_secret(shop: Shop) -> None:
    ran = shop.run("secrets/ledger.yaml")
    kept = b"".join(path.read_bytes() for path in shop.folder.runs.rglob("*") if path.is_file())
    assert ENVIRONMENT["LEDGER_USER"].encode() not in kept + (ran.out + ran.err).encode()
