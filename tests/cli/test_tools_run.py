"""`strands tools run`: one call by hand."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.strands import Folder

SUM = '{"expression": "6 * 7"}'


def test_the_text_of_a_result_is_all_that_is_on_stdout(folder: Folder) -> None:
    ran = folder.strands("tools", "run", "calculator", "--input", SUM)
    assert (ran.code, ran.out, ran.err) == (0, "42\n", "")


@pytest.mark.parametrize(
    "name", ["native:calculator", "strands-tool-calculator/calculator", "strands_tools.calculator"]
)
def test_a_tool_can_be_named_in_every_form(folder: Folder, name: str) -> None:
    name = f"native:{name}" if name.startswith("strands-tool") else name
    assert folder.strands("tools", "run", name, "--input", SUM).out == "42\n"


def test_a_workflow_in_place_of_a_tool_is_answered_with_run(folder: Folder) -> None:
    folder.workflow([{"tool": "native:calculator", "input": {"expression": "1"}}])
    ran = folder.strands("tools", "run", "flow.yaml")
    assert ran.code == 2
    assert "strands run flow.yaml" in ran.err
    assert "ALLOWLIST" not in ran.err


def test_json_is_the_whole_result(folder: Folder) -> None:
    ran = folder.strands("tools", "run", "calculator", "--input", SUM, "--json")
    assert ran.code == 0
    assert ran.document["status"] == "success"
    assert ran.document["content"][0] == {"text": "42"}
    assert "error" not in ran.document


def test_an_error_result_is_exit_10_on_stderr_and_whole_as_json(folder: Folder) -> None:
    text = folder.strands("tools", "run", "calculator", "--input", '{"expression": "1/0"}')
    assert (text.code, text.out) == (10, "")
    assert "division by zero" in text.err
    ran = folder.strands("tools", "run", "calculator", "--input", '{"expression": "1/0"}', "--json")
    assert (ran.code, ran.document["status"]) == (10, "error")
    assert "division by zero" in ran.document["error"]["message"]


def test_an_error_in_the_json_of_a_success_is_exit_10_as_it_fails_a_step(folder: Folder) -> None:
    reported = {"json": {"error": {"type": "HTTP 500"}}}
    folder.tool("fetch", f"return {{**answer('oops'), 'content': [{{'text': 'oops'}}, {reported}]}}")
    text = folder.strands("tools", "run", "fetch")
    assert (text.code, text.out, text.err) == (10, "", "oops\n")
    ran = folder.strands("tools", "run", "fetch", "--json")
    assert (ran.code, ran.document["status"], ran.document["error"]) == (10, "success", {"type": "HTTP 500"})


@pytest.mark.parametrize(
    ("given", "named", "fix"),
    [
        ("{}", "'expression' is missing", "strands tools show calculator"),
        ('{"expresion": "1"}', "no key 'expresion'", "did you mean 'expression'?"),
        ('{"expression": 1}', "is not of type 'string'", "strands tools show calculator"),
    ],
)
def test_an_input_that_does_not_fit_the_schema_is_a_usage_error(
    folder: Folder, given: str, named: str, fix: str
) -> None:
    text = folder.strands("tools", "run", "calculator", "--input", given)
    assert (text.code, text.out) == (2, "")
    assert named in text.err
    assert re.search(rf"^  fix: .*{re.escape(fix)}", text.err, re.MULTILINE)
    ran = folder.strands("tools", "run", "calculator", "--input", given, "--json")
    assert (ran.code, ran.document["status"]) == (2, "error")
    assert ran.document["error"]["code"] == "invalid_input"


@pytest.mark.parametrize("given", ["", "{", "[1]", "nonsense", '{"expression": NaN}', "[" * 100_000])
def test_an_input_that_is_not_a_json_object_is_a_usage_error(folder: Folder, given: str) -> None:
    ran = folder.strands("tools", "run", "calculator", "--input", "-", given=given)
    assert (ran.code, ran.out) == (2, "")
    assert re.search(r"""^  fix: .*--input '\{"name": "value"\}'""", ran.err, re.MULTILINE)


def test_the_input_may_come_from_standard_input(folder: Folder) -> None:
    assert folder.strands("tools", "run", "calculator", "--input", "-", given=SUM).out == "42\n"


@pytest.mark.parametrize(
    ("name", "code", "finding", "hint"),
    [
        ("calculatr", 3, "unknown-tool", "'calculator'"),
        ("native:calculator@>=99", 3, "tool-version", "strands-tool-calculator"),
        ("os.path:join", 21, "denied", "STRANDS_CUSTOM_TOOL_ALLOWLIST=os.path:join"),
        ("two words", 2, "unavailable", "strands list-tools"),
        ("mcp:server/tool", 3, "not-in-catalog", "MCP"),
    ],
)
def test_a_tool_that_cannot_be_called_is_reported_in_both_ways(
    folder: Folder, name: str, code: int, finding: str, hint: str
) -> None:
    ran = folder.strands("tools", "run", name, "--json")
    assert ran.code == code
    assert ran.document["status"] == "error"
    assert ran.document["error"]["code"] == finding
    assert hint in ran.err
    assert ran.err.count("error") == 1, "one message for one problem"


def test_typing_the_command_is_the_approval_and_it_leaves_no_record(folder: Folder) -> None:
    arguments = json.dumps({"path": "note.txt", "content": "hello"})
    ran = folder.strands("tools", "run", "file_write", "--input", arguments)
    assert ran.code == 0
    assert (folder.work / "note.txt").read_text() == "hello"
    assert not folder.runs.exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("raise ValueError('broken')", "tool_failed"),
        ("import sys\nsys.exit(7)", "tool_failed"),
        ("return 'just text'", "invalid_output"),
        ("return {'status': 'success', 'content': 'text'}", "invalid_output"),
        ("return {'status': 'fine', 'content': []}", "invalid_output"),
        ("return None", "invalid_output"),
        ("raise KeyboardInterrupt", "tool_failed"),
    ],
)
def test_whatever_a_tool_does_is_a_result(folder: Folder, body: str, code: str) -> None:
    folder.tool("odd", body)
    ran = folder.strands("tools", "run", "odd", "--json")
    assert ran.code == 10
    assert ran.document["error"]["code"] == code
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("first_line", ["raise RuntimeError('no')", "import sys; sys.exit(0)", "import no_such_module"])
def test_a_plugin_that_cannot_be_imported_is_exit_18(folder: Folder, first_line: str) -> None:
    folder.tool("odd", "return answer('ok')")
    module = folder.site / "strands_tool_odd" / "__init__.py"
    module.write_text(f"{first_line}\n{module.read_text()}")
    ran = folder.strands("tools", "run", "odd", "--json")
    assert ran.code == 18
    assert ran.document["status"] == "error"
    assert "strands-tool-odd" in ran.err
    assert "python -c 'import strands_tool_odd'" in ran.err


def test_a_tool_that_hangs_is_ended_by_its_own_time_limit(folder: Folder) -> None:
    folder.tool("slow", "import threading\nthreading.Event().wait()", strands_cli={"timeout_s": 0.2})
    ran = folder.strands("tools", "run", "slow", "--json")
    assert ran.code == 10
    assert ran.document["error"]["code"] == "timeout"
