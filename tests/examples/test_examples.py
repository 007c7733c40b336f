"""Every example is valid, can be planned, and runs offline."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.strands import EXAMPLES, Folder
from tests.fakes.http_service import HttpService

WORKFLOWS = sorted(
    path.relative_to(EXAMPLES)
    for path in EXAMPLES.rglob("*.yaml")
    if "agents" in (yaml.safe_load(path.read_text()) or {})
)
GRANTS = {"approve-and-write.yaml": ["--allow", "file_write"], "http-executor.yaml": ["--allow", "hives"],
          "mcp/shelf.yaml": ["--allow", "mcp:shelf/find_books"]}  # fmt: skip
WARNS = {"tool-names/legacy.yaml": ["legacy-tool"]}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return a folder with a copy of the examples."""
    made = Folder(tmp_path)
    made.work.mkdir()
    made.site.mkdir()
    made.examples()
    return made


@pytest.fixture(autouse=True)
def hives(folder: Folder) -> Iterator[HttpService]:
    """Serve what `hives.py` serves at a port of its own, and send the example there."""
    with HttpService({"/v1/hives": [{"id": 2, "name": "lime tree", "kg": 47.2}]}) as service:
        file = folder.work / "examples" / "http-executor.yaml"
        file.write_text(file.read_text().replace(":8643/", f":{service.port}/"))
        folder.environ["HIVES_TOKEN"] = "a-key-for-the-hives"
        yield service


def test_an_executor_asks_with_its_key(folder: Folder, hives: HttpService) -> None:
    ran = folder.strands("run", "examples/http-executor.yaml", "--events", "-")
    assert [(asked.path, asked.headers["authorization"]) for asked in hives.asked] == [
        ("/v1/hives?min_kg=40", "Bearer a-key-for-the-hives")
    ]
    assert "lime tree" in ran.out
    assert "a-key-for-the-hives" not in ran.out + ran.err


def has_gate(name: Path) -> bool:
    return "type: hitl" in (EXAMPLES / name).read_text()


@pytest.mark.parametrize("name", WORKFLOWS, ids=str)
def test_an_example_is_valid_can_be_planned_and_runs(name: Path, folder: Folder) -> None:
    spec, grants = f"examples/{name.as_posix()}", GRANTS.get(name.as_posix(), [])
    assert folder.strands("validate", spec).code == 0
    planned = folder.strands("plan", spec, *grants)
    assert planned.code == 0
    assert re.findall(r"^(?:warning|error)\[(.*?)\]", planned.err, re.M) == WARNS.get(name.as_posix(), [])
    if has_gate(name):
        assert folder.strands("run", spec, *grants).code == 19, "a gate waits where nobody is"
        return
    ran = folder.strands("run", spec, *grants)
    assert ran.code == 0, ran.err
    assert ran.out.strip()
    assert "denied" not in ran.err
    for artifact in yaml.safe_load((EXAMPLES / name).read_text()).get("outputs", {}).get("artifacts", []):
        assert (folder.work / "artifacts" / artifact["path"]).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(("answer", "written"), [("", "closed on Friday"), ("no", "No notice today.")])
def test_what_a_person_answers_decides_what_is_written(answer: str, written: str, folder: Folder) -> None:
    with folder.terminal("run", "examples/approve-and-write.yaml", "--allow", "file_write") as terminal:
        terminal.wait_for(r"\? Put this notice up\? \(yes or no\)")
        terminal.wait_for(r"closed on Friday")
        terminal.wait_for(r"answer \[yes\]: $")
        terminal.type(f"{answer}\n")
        assert terminal.end() == 0
    assert written in (folder.work / "notice.md").read_text()


def test_every_way_to_name_a_tool_has_an_example() -> None:
    names = {path.name for path in (EXAMPLES / "tool-names").glob("*.yaml")}
    assert {"short.yaml", "native.yaml", "legacy.yaml", "mixed.yaml"} <= names
