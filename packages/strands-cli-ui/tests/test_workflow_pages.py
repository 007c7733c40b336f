"""Workflows of the folder on the local page: planned, allowed as shown, started with inputs; and the tools."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from served import Browser, Page

from tests.cli.strands import Folder
from tests.wordings import Wording

# It serves the page that the browser tests drive.
pytestmark = pytest.mark.browser

STEP = {"agent": "writer", "input": "Greet {{ who }} {{ times }} times."}
INPUTS = {
    "required": {"who": {"type": "string", "description": "Whom <to> greet"}},
    "optional": {"times": {"type": "integer", "default": 2}, "loud": {"type": "boolean", "default": False}},
}


def _write(folder: Folder, name: str, **sections: object) -> None:
    turns = {"steps.0": [{"text": "hello"}]}
    folder.write("greet.recording.yaml", {"recording": 1, "steps": turns})
    spec = {
        "version": 2,
        "name": "greet",
        "runtime": {"provider": "replay", "recording": "greet.recording.yaml"},
        "inputs": INPUTS,
        "agents": {"writer": {"prompt": "You greet."}},
        "pattern": {"type": "chain", "config": {"steps": [STEP]}},
    }
    folder.write(name, {**spec, **sections})


def _hidden(page: Page) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.text))


def _followed(browser: Browser, started: Page) -> Page:
    """Follow the pages of a start until one is shown that does not load itself again."""
    page, place = started, ""
    while page.status == 303 or "refresh" in page.headers:
        place = page.headers.get("location", place)
        page = browser.get(place)
    return page


def _started(browser: Browser, name: str, fields: Mapping[str, str]) -> Page:
    return _followed(browser, browser.post(f"/workflows/{name}/start", fields))


def test_the_list_of_workflows_has_names_and_descriptions_and_the_menu_says_where_one_is(
    browser: Browser, folder: Folder
) -> None:
    _write(folder, "greet.yaml", description="Greets <people>.")
    folder.write("broken.yaml", "pattern: [\n")
    page = browser.get("/workflows").text
    assert re.search(r'href="/workflows/greet.yaml"><bdi>greet</bdi></a>', page)
    assert "Greets &lt;people&gt;." in page
    assert 'href="/workflows/broken.yaml"' in page
    for place, name, mark in (
        ("/", "Runs", "page"),
        ("/inbox", "Inbox", "page"),
        ("/workflows", "Workflows", "page"),
        ("/tools", "Tools", "page"),
        ("/workflows/greet.yaml", "Workflows", "true"),
        ("/tool?name=calculator", "Tools", "true"),
    ):
        current = re.findall(r'<a href="[^"]*" aria-current="(\w+)">.*?(\w+)</a>', browser.get(place).text)
        assert current == [(mark, name)]


def test_what_a_run_waits_for_comes_before_its_facts(browser: Browser, folder: Folder) -> None:
    steps = [{"type": "hitl", "prompt": "Put this up?"}]
    _write(folder, "ask.yaml", inputs={}, agents={}, pattern={"type": "chain", "config": {"steps": steps}})
    assert folder.strands("run", "ask.yaml").code == 19
    run = folder.strands("runs", "list", "--json").document["runs"][0]["id"]
    page = browser.get(f"/runs/{run}").text
    assert page.index("Put this up?") < page.index('class="facts"')


def test_a_workflow_starts_with_the_inputs_of_its_form(browser: Browser, folder: Folder) -> None:
    _write(folder, "greet.yaml")
    assert 'href="/workflows/greet.yaml"' in browser.get("/workflows").text
    page = browser.get("/workflows/greet.yaml")
    assert "Whom <to> greet" in page.shown
    assert 'class="node agent not-begun"' in page.text
    fields = {**_hidden(page), "input.who": "--bees\n'; $(touch x)", "input.times": "3", "input.loud": "true"}
    run = _started(browser, "greet.yaml", fields)
    assert run.status == 200
    shown = folder.strands("runs", "show", "last", "--json").document
    assert shown["inputs"] == {"who": "--bees\n'; $(touch x)", "times": 3, "loud": True}
    assert shown["file"] == "greet.yaml"


def test_a_file_whose_name_is_not_utf_8_hides_no_other_workflow(browser: Browser, folder: Folder) -> None:
    _write(folder, "seen.yaml")
    odd = folder.work / os.fsdecode(b"odd\xff.yaml")
    odd.write_text((folder.work / "seen.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert 'href="/workflows/seen.yaml"' in browser.get("/workflows").text
    odd.unlink()


def test_a_choice_is_sent_as_the_workflow_has_it(browser: Browser, folder: Folder) -> None:
    exact = " two  spaces\u200b"
    optional = {**INPUTS["optional"], "kind": {"type": "string", "enum": [exact]}}
    _write(folder, "choice.yaml", inputs={**INPUTS, "optional": optional})
    assert f'<option value="{exact}">' in browser.get("/workflows/choice.yaml").text


def test_inputs_that_do_not_fit_start_nothing(browser: Browser, folder: Folder, wording: Wording) -> None:
    _write(folder, "typed.yaml")
    before = len(folder.strands("runs", "list", "--json").document["runs"])
    fields = {**_hidden(browser.get("/workflows/typed.yaml")), "input.who": "bees", "input.times": "many"}
    refused = browser.post("/workflows/typed.yaml/start", fields)
    assert refused.status == 409
    wording(refused.plain)
    missing = _started(browser, "typed.yaml", {**fields, "input.who": "", "input.times": ""})
    assert missing.status == 409
    wording(missing.plain)
    assert len(folder.strands("runs", "list", "--json").document["runs"]) == before


def test_what_a_person_allows_is_what_the_page_has_shown(browser: Browser, folder: Folder, wording: Wording) -> None:
    (folder.root / "other").mkdir()
    _write(folder, "opens.yaml", env={"mounts": {"other": "../other"}})
    page = browser.get("/workflows/opens.yaml")
    assert "../other" in page.shown
    assert 'action="/workflows/opens.yaml/start"' not in page.text
    fields = {**_hidden(page), "input.who": "bees"}
    assert _started(browser, "opens.yaml", fields).status == 409
    (folder.root / "more").mkdir()
    _write(folder, "opens.yaml", env={"mounts": {"other": "../more"}})
    changed = browser.post("/workflows/opens.yaml/trust", fields)
    assert changed.status == 409
    wording(changed.plain)
    fields = {**_hidden(browser.get("/workflows/opens.yaml")), "input.who": "bees"}
    assert browser.post("/workflows/opens.yaml/trust", fields).status == 303
    allowed = browser.get("/workflows/opens.yaml")
    assert 'action="/workflows/opens.yaml/start"' in allowed.text
    assert _started(browser, "opens.yaml", fields).status == 200


def test_a_workflow_with_mistakes_is_shown_with_their_places(browser: Browser, folder: Folder) -> None:
    _write(folder, "wrong.yaml", pattern={"type": "chian", "config": {"steps": [STEP]}})
    page = browser.get("/workflows/wrong.yaml")
    assert page.status == 409
    assert "wrong.yaml:1:" in page.shown
    assert "/start" not in page.text
    for name in ("nothing.yaml", "..", "%2e%2e%2fflow.yaml", "greet.recording.yaml.bak"):
        assert browser.get(f"/workflows/{name}").status == 404


def test_a_tool_is_shown_with_its_source_policy_and_lock(browser: Browser, folder: Folder) -> None:
    marker = folder.root / "imported"
    body = f"from pathlib import Path\nPath({str(marker)!r}).touch()\nreturn answer('x')"
    folder.tool("echo", body, description="Says <b>it</b>.")
    listed = browser.get("/tools?text=echo")
    assert "Says <b>it</b>." in listed.shown
    page = browser.get("/tool?name=echo")
    assert "strands_tool_echo" in page.shown
    assert "lock-missing" in page.shown
    assert not Path(marker).exists()
    assert browser.get("/tool?name=nothing").status == 409
