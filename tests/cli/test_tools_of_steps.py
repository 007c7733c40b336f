"""Steps without a model whose tools call others: the workflow lists these, plan shows them, and each call is a row."""

from __future__ import annotations

from tests.cli.strands import Folder
from tests.tools.test_inner_calls import HEAD, SYNC
from tests.tools.test_tool_steps import BY_NAME

WORKFLOW = """
version: 2
name: steps
tools: {python_path: [.], python: ["custom_steps:outer", "custom_steps:inner"]}
pattern: {type: chain, config: {steps: [{tool: outer}]}}
"""


def test_a_tool_that_a_workflow_lists_can_be_called_by_the_code_of_another(folder: Folder) -> None:
    folder.write("custom_steps.py", HEAD + SYNC + BY_NAME)
    folder.write("w.yaml", WORKFLOW)
    folder.environ["STRANDS_CUSTOM_TOOL_ALLOWLIST"] = "custom_steps:*"
    planned = folder.strands("plan", "w.yaml", "--json").document
    assert [tool["name"] for tool in planned["step_tools"]] == ["outer", "inner"]
    assert planned["bounds"]["tool_calls"] is None
    ran = folder.strands("run", "w.yaml", "--allow", "custom_steps:*", "--json")
    assert (ran.code, ran.document["response"]) == (0, "inner a"), ran.err
    assert ran.document["tool_calls"] == 2
