"""The tool `spec_verify`: report the faults of a workflow, without running anything of it or reading its files."""

from __future__ import annotations

from typing import Any

from strands_tool_kit import CallContext, answer, read_input
from strands_tool_kit.spec import boolean, capabilities, for_programs, hints, inputs, integer, outputs, string
from strands_tool_spec_verify._check import check_text

TOOL_SPEC: dict[str, Any] = {
    "name": "spec_verify",
    "description": (
        "Check a strands-cli workflow (YAML or JSON) that you have written, before it is run. Returns every mistake "
        "with code, message, line, column and a fix. With check_capability it also tells whether this machine has the "
        "tools, model providers and keys that the workflow needs. Nothing is run, and no other file is read."
    ),
    "inputSchema": inputs(
        {
            "spec_content": string("The whole text of the workflow.", length=(1, 1000000)),
            "check_capability": boolean(
                "Whether to look for tools, providers and keys on this machine too.", default=False
            ),
        },
        required=["spec_content"],
    ),
    "outputSchema": outputs(
        {
            "valid": boolean("Whether there is no error; warnings are no errors."),
            **for_programs(
                errors=integer("How many errors there are."),
                warnings=integer("How many warnings there are."),
                findings={
                    "type": "array",
                    "description": "At most 100, in the order of the text.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "code": {"type": "string"},
                            "severity": {"type": "string", "enum": ["error", "warning"]},
                            "message": {"type": "string"},
                            "line": {"type": ["integer", "null"]},
                            "column": {"type": ["integer", "null"]},
                            "pointer": {"type": ["string", "null"]},
                            "fix": {"type": ["string", "null"]},
                        },
                        "required": ["code", "severity", "message", "line", "column", "pointer", "fix"],
                    },
                },
            ),
        }
    ),
    "annotations": hints("Check a workflow", reads_only=True),
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": capabilities(),
        "resources": {"reads": [], "writes": []},
        "timeout_s": 60,
        "max_output_bytes": 262144,
    },
}


def spec_verify(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Check one workflow.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli["workspace"]["root"]` is taken for the workflow's folder.

    Returns: A Strands tool result: the faults in words and as JSON; a workflow with errors is a success of this tool.
    """

    def work() -> tuple[str, dict[str, Any]]:
        context = CallContext.of(kwargs)
        values = read_input(tool, TOOL_SPEC)
        context.require_time()
        return check_text(values["spec_content"], context.workspace, capability=values["check_capability"])

    return answer(tool, work)
