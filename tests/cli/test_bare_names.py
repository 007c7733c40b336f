"""Names without a distribution in policy files and in `--allow`; rules that fit nothing installed."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder

WALL = 'version: 1\nrules:\n  - {deny: "*", unless: [calculator, "native:file_*", strands-tool-files/file_read]}\n'
SUM = '{"expression": "6 * 7"}'
SAYS = "return answer('said')"


def test_a_strangers_tool_passes_no_wall_of_names(folder: Folder) -> None:
    folder.write("strands-policy.yaml", WALL)
    folder.tool("file_exfil", SAYS)
    assert folder.strands("tools", "run", "file_exfil", "--input", '{"text": "a"}').codes == ["tool-denied"]
    folder.tool("calculator", SAYS)  # of a distribution with the same name, which is earlier on the path: that is meant
    assert folder.strands("tools", "run", "calculator", "--input", SUM).code != 21


def test_a_bare_name_is_a_warning_with_the_name_to_write_in_plan_and_doctor(folder: Folder) -> None:
    rules = folder.write("strands-policy.yaml", WALL)
    folder.workflow([{"tool": "native:calculator", "input": {"expression": "1"}}])
    plan = folder.strands("plan", "flow.yaml")
    assert "bare-tool-name" in plan.codes
    assert f"{rules}:3" in plan.err
    assert "strands-tool-files/file_list" in plan.err
    assert "native:file_*" in folder.strands("doctor", "--no-engines").out


@pytest.mark.parametrize(
    ("rule", "guess"),
    [
        ("{deny: http_requst}", "http_request"),
        ("{deny: Calculator}", "calculator"),
        ("{deny: '*', unless: [strands-tool-file/file_read]}", "strands-tool-files/file_read"),
        ("{deny: '*', distribution: strands-tool-file}", "strands-tool-files"),
        ("{ask: file_write(pth=docs/**)}", "path"),
    ],
)
def test_a_rule_that_fits_nothing_installed_is_a_warning_with_its_line(folder: Folder, rule: str, guess: str) -> None:
    rules = folder.write("strands-policy.yaml", f"version: 1\nrules:\n  - {rule}\n")
    folder.write("free.yaml", "version: 1\nrules: []\n")
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "x"}]})
    plan = folder.strands("plan", "flow.yaml")
    assert "unmatched-rule" in plan.codes
    assert f"{rules}:3" in plan.err
    assert guess in plan.err
    doctor = folder.strands("doctor", "--no-engines").out
    assert doctor.count(f"{rules}:3") == 1
    assert guess in doctor
    assert "unmatched-rule" not in folder.strands("plan", "flow.yaml", "--policy", "free.yaml").codes


def test_rules_on_python_servers_and_the_workflows_own_names_are_no_mistakes(folder: Folder) -> None:
    folder.write(
        "strands-policy.yaml",
        "version: 1\nrules:\n  - deny: [my.tools:fn, pkg.mod.attr, 'mcp:shelf/*', sums, 'strands-tool-files/file_*']\n",
    )
    agents = {"writer": {"prompt": "w", "tools": [{"tool": "native:calculator", "as": "sums"}]}}
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "x"}]}, agents=agents)
    assert "unmatched-rule" not in folder.strands("plan", "flow.yaml").codes


def test_allow_at_the_command_line_takes_a_bare_name_that_one_distribution_has(folder: Folder) -> None:
    folder.tool("echo", SAYS, annotations={})
    folder.workflow([{"tool": "native:strands-tool-echo/echo", "input": {"text": "a"}}])
    for word in ("echo", "ech*", "strands-tool-echo/echo"):
        assert folder.strands("run", "flow.yaml", "--allow", word).code == 0, word


def test_allow_at_the_command_line_refuses_a_bare_name_that_two_distributions_have(folder: Folder) -> None:
    from tests.distributions import make_distribution

    folder.tool("echo", SAYS, annotations={})
    evil = "TOOL_SPEC = {'name': 'echo', 'description': 'x', 'inputSchema': {'json': {}}}\ndef echo(tool):\n    pass\n"
    make_distribution(folder.site, "strands-tool-evil", "1.0", {"echo": "evil_echo"}, {"evil_echo.py": evil})
    folder.workflow([{"tool": "native:strands-tool-evil/echo", "input": {}}])
    for word in ("echo", "ech*", "native:echo"):
        ran = folder.strands("run", "flow.yaml", "--allow", word)
        assert ran.code == 2, word
        assert "strands-tool-echo, strands-tool-evil" in ran.err
        assert "--allow 'strands-tool-echo/" in ran.err
