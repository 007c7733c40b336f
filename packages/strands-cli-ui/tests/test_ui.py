"""`strands ui`: who is admitted, runs, answers, and the end."""

from __future__ import annotations

import http.client
import json
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from served import GATE, Browser, Served

from strands_cli.api import StorePlace
from strands_cli_ui.ui_options import UiOptions
from tests.cli.strands import Folder
from tests.wordings import Wording

CALL = {
    "version": 2,
    "name": "call",
    "pattern": {
        "type": "chain",
        "config": {"steps": [{"tool": "native:file_write", "input": {"path": "a.txt", "content": "x"}}]},
    },
}


def _run_of(folder: Folder) -> str:
    document = folder.strands("runs", "list", "--json").document
    return str(document["runs"][0]["id"])


def test_an_address_admits_one_browser_and_then_a_new_one_is_printed(served: Served, browser: Browser) -> None:
    address = served.address()
    second = Browser.admitted(address)
    assert second.get("/").status == 200
    third = Browser(second.place)
    refused = third.get(f"/?{address.partition('?')[2]}")
    assert refused.status == 403
    assert "set-cookie" not in refused.headers
    assert third.get("/").status == 401
    assert browser.get("/").status == 200


def test_the_list_links_to_runs_that_it_filters(browser: Browser, folder: Folder) -> None:
    run = _run_of(folder)
    assert f'href="/runs/{run}"' in browser.get("/?status=waiting&workflow=flow&text=FLOW").text
    assert f'href="/runs/{run}"' not in browser.get("/?status=completed").text
    assert f'href="/runs/{run}"' not in browser.get("/?text=other").text


def test_enter_in_the_field_of_a_reason_can_only_reject(browser: Browser) -> None:
    forms = re.findall(r"<form .*?</form>", browser.get("/inbox").text, re.DOTALL)
    (rejects,) = (one for one in forms if 'name="reason"' in one)
    assert re.findall(r"<button.*?>", rejects) == ['<button name="do" value="reject">']


def test_the_headings_of_a_run_that_waits_begin_with_its_title_and_leave_out_no_level(
    browser: Browser, folder: Folder
) -> None:
    page = browser.get(f"/runs/{_run_of(folder)}")
    assert "<textarea" in page.text
    levels = [int(level) for level in re.findall(r"<h([1-6])", page.text)]
    assert levels[:2] == [1, 2]
    assert levels.count(1) == 1
    assert [after for before, after in pairwise(levels) if after > before + 1] == []


def test_two_browsers_answer_a_gate_and_the_second_gets_the_answer_that_won(
    served: Served, browser: Browser, folder: Folder, wording: Wording
) -> None:
    run = _run_of(folder)
    inbox = browser.get("/inbox")
    assert "Ship <it>?" in inbox.shown
    fields = {"csrf": inbox.csrf, "key": "steps.0", "word": "approved"}
    won = browser.post(f"/runs/{run}/answer", fields)
    assert (won.status, won.headers["location"]) == (303, f"/runs/{run}")
    lost = browser.post(f"/runs/{run}/answer", {**fields, "word": "", "text": "--reason"})
    assert lost.status == 409
    wording(lost.plain.partition("Fix:")[0])
    stream = http.client.HTTPConnection(browser.place, timeout=60)
    stream.request("GET", f"/runs/{run}/events", headers={"Cookie": browser.cookie})
    events = stream.getresponse()
    while 'data-events="' in (page := browser.get(f"/runs/{run}")).text:
        assert events.readline().startswith((b"event: changed", b"data:", b":", b"\n"))
    stream.close()
    assert "completed" in page.shown
    inside = browser.get(f"/runs/{run}/effects?key=steps.1/model.0")
    assert "shipped" in inside.shown


@pytest.mark.parametrize("key", ["steps.7", "\0"])
def test_a_call_that_is_not_there_cannot_fail_and_the_page_says_so(key: str, browser: Browser, folder: Folder) -> None:
    fields = {"csrf": browser.get("/workflows/flow.yaml").csrf, "key": key, "do": "fail"}
    refused = browser.post(f"/runs/{_run_of(folder)}/answer", fields)
    assert (refused.status, "Fix:" in refused.shown or "fix:" in refused.shown) == (409, True)


def test_the_page_ends_with_ctrl_c_although_a_stream_is_open(folder: Folder) -> None:
    one = Served(folder)
    browser = Browser.admitted(one.address())
    stream = http.client.HTTPConnection(browser.place, timeout=60)
    stream.request("GET", "/events", headers={"Cookie": browser.cookie})
    events = stream.getresponse()
    assert events.readline() == b"event: changed\n"
    assert one.end()[0] == 0
    stream.close()


def test_another_host_needs_the_consent_of_the_person_and_tls(folder: Folder, wording: Wording) -> None:
    for words in (
        ["--host", "192.0.2.1"],
        ["--host", "192.0.2.1", "--i-know"],
        ["--tls-cert", "no.pem"],
        ["--tls-cert", "no.pem", "--tls-key", "no.pem"],
        ["--host", "0.0.0.0", "--i-know", "--tls-cert", "no.pem", "--tls-key", "no.pem"],
    ):
        ran = folder.strands("ui", *words)
        assert (ran.code, ran.out) == (2, "")
        wording(ran.err)


@pytest.mark.parametrize("host", ["127.0.0.2", "LOCALHOST", "[::1]"])
def test_the_page_takes_the_address_that_it_prints(host: str, tmp_path: Path) -> None:
    options = UiOptions(StorePlace(tmp_path), tmp_path, host)
    assert urlsplit(options.address(8765, "t"))._replace(path="", query="").geturl().lower() in options.origins(8765)


def test_a_port_in_use_is_an_error_with_a_fix(
    served: Served, browser: Browser, folder: Folder, wording: Wording
) -> None:
    ran = folder.strands("ui", "--port", browser.place.rpartition(":")[2])
    assert ran.code == 2
    wording(ran.err.splitlines()[1:])


def test_an_answer_a_reason_and_a_result_come_from_stdin(folder: Folder, tmp_path: Path) -> None:
    elsewhere = Folder(tmp_path)
    elsewhere.work.mkdir()
    elsewhere.site.mkdir()
    elsewhere.workflow([{**GATE, "validation": {"pattern": "[a-z -]+"}}, GATE], {})
    assert elsewhere.strands("run", "flow.yaml", "--detach").code == 19
    assert elsewhere.strands("approve", "last", "--answer", "-", "--detach", given="--ship it\n").code == 19
    assert elsewhere.strands("reject", "last", "--reason", "-", given="stale\nold").code == 10
    shown = elsewhere.strands("runs", "show", "last", "--full", "--json").document
    assert "--ship it" in json.dumps(shown)
    assert "stale\\nold" in json.dumps(shown)


def test_two_runs_are_compared(browser: Browser, folder: Folder) -> None:
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    runs = [one["id"] for one in folder.strands("runs", "list", "--json").document["runs"]]
    page = browser.get(f"/compare?run={runs[0]}&run={runs[-1]}")
    assert page.status == 200
    assert page.shown.index(runs[-1]) < page.shown.index(runs[0])
    assert browser.get(f"/compare?run={runs[0]}").status == 409


def test_the_arguments_of_a_call_are_changed_on_the_page_and_a_misfit_is_shown(
    browser: Browser, folder: Folder
) -> None:
    folder.write("call.yaml", CALL)
    assert folder.strands("run", "call.yaml", "--detach").code == 19
    run = _run_of(folder)
    page = browser.get(f"/runs/{run}")
    shown = dict(re.findall(r'<textarea name="argument\.(\w+)"[^>]*>\n(.*?)</textarea>', page.text, re.DOTALL))
    assert (shown["path"], shown["content"]) == ("a.txt", "x")
    fields = {"csrf": page.csrf, "key": "steps.0/tool.0.file_write/approval", "do": "approve"}
    refused = browser.post(f"/runs/{run}/answer", {**fields, "argument.path": "b.txt"})
    assert (refused.status, "content" in refused.shown) == (409, True)
    changed = {**fields, "argument.path": "b.txt", "argument.content": "x"}
    assert browser.post(f"/runs/{run}/answer", changed).status == 303
    shown = folder.strands("runs", "show", run, "steps.0/tool.0.file_write/approval", "--json").document
    assert shown["question"]["arguments"] == {"path": "b.txt", "content": "x"}
