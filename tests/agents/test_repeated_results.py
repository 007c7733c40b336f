"""A model reads each tool result once; the journal, steps and templates have all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.tools.messages.repeated_results import for_model, without_repetition
from strands_cli.tools.tool_results import capped, error_result, well_formed
from tests.agents.kit import SCHEMA, RunContext, Script, Site, asking

LINES = [f"notes.txt:{number}:{word * 12}" for number, word in enumerate(["alpha ", "beta ", "gamma "], 1)]
MATCHES = [
    {"path": "notes.txt", "line": number, "text": line.split(":")[2].strip()} for number, line in enumerate(LINES, 1)
]
GREP: list[dict[str, Any]] = [{"text": "\n".join(LINES)}, {"json": {"matches": MATCHES, "truncated": False}}]
ECHO = (
    f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}}}}\n"
    f"def echo(tool, **kwargs):\n    return {{'status': 'success', 'content': {GREP!r}}}\n"
)


def read_by_model(*content: dict[str, Any]) -> list[Any]:
    result = {"toolUseId": "t", "status": "success", "content": list(content)}
    [message] = for_model([{"role": "user", "content": [{"text": "hi"}, {"toolResult": result}]}])
    assert result["content"] == list(content)
    return list(message["content"][1]["toolResult"]["content"])


def test_a_result_goes_to_the_model_once_and_to_the_journal_whole(site: Site) -> None:
    site.install(ECHO)
    host, model = RunContext(), Script([("echo", {"text": "a"})], [("echo", {"text": "b"})], "done")
    asking(model, *site.plan("native:echo"), host=host)
    last = json.dumps(model.requests[-1]["messages"])
    assert last.count("gamma gamma") == 2 * LINES[2].count("gamma gamma")
    assert [row.output["content"] for row in host.rows("tool").values()] == [GREP, GREP]


def test_the_first_party_tools_that_print_and_find_say_it_once(tmp_path: Path) -> None:
    from strands_tool_files import grep
    from strands_tool_python_exec import python_exec

    (tmp_path / "notes.txt").write_text("\n".join("x" * 80 + str(number) for number in range(50)))
    tool = {"toolUseId": "t", "name": "grep", "input": {"pattern": "x", "path": "notes.txt"}}
    found = grep.grep(tool, strands_cli={"workspace": str(tmp_path)})
    printed = python_exec.python_exec({**tool, "input": {"code": "print('y' * 9000)"}})
    for result, word in ((found, "x" * 80 + "49"), (printed, "y" * 9000)):
        assert json.dumps(result).count(word) == 2
        assert json.dumps(read_by_model(*result["content"])).count(word) == 1


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([{"text": "2 rows"}, {"json": {"rows": ["a" * 30, "b" * 40]}}], id="a summary"),
        pytest.param([{"text": "200 pages"}, {"json": {"status": 200}}], id="small"),
        pytest.param([{"json": {"rows": ["a" * 100]}}], id="no text"),
        pytest.param([{"text": " "}, {"json": {"rows": ["a" * 100]}}], id="blank text"),
        pytest.param([{"text": "one", "cachePoint": {}}, {"image": {"format": "png"}}], id="other kinds"),
        pytest.param([{"text": "9118 " * 30}, {"json": {"n": [118] * 30}}], id="parts of numbers"),
        pytest.param([{"text": "b" * 40 + " " + "a" * 40}, {"json": {"n": ["a" * 40, "b" * 40]}}], id="another order"),
    ],
)
def test_nothing_is_lost(content: list[dict[str, Any]]) -> None:
    assert read_by_model(*content) == content


def test_what_the_text_says_in_json_is_not_repeated() -> None:
    value = {"a": 1, "b": [True, None]}
    text = json.dumps(value, indent=1)
    assert read_by_model({"text": text}, {"json": value}) == [{"text": text}]


def test_of_a_json_block_the_model_reads_the_fields_that_are_new() -> None:
    text = "a long line of output " * 10
    [_, rest] = read_by_model({"text": text}, {"json": {"stdout": text, "exit": 3, "files": {"f.txt": "z" * 100}}})
    assert rest == {"json": {"exit": 3, "files": {"f.txt": "z" * 100}}}


def test_an_error_is_a_sentence_and_only_what_else_it_has() -> None:
    plain = error_result("t", "denied", "not today")["content"]
    assert without_repetition(plain) == plain[:1]
    again = error_result("t", "timeout", "late", retryable=True, details={"after": 3})["content"]
    assert without_repetition(again)[1] == {"json": {"error": {"retryable": True, "details": {"after": 3}}}}


def test_a_result_that_is_too_large_is_not_cut_into_its_own_repetition() -> None:
    result = capped(well_formed({"status": "success", "content": GREP}, "t"), len(GREP[0]["text"]) + 50)
    assert json.dumps(result["content"]).count("gamma gamma") == LINES[2].count("gamma gamma")
    assert result["content"][-1]["json"]["truncated"] is True
