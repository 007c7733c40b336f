"""What every tool must do, the checker of workflows does."""

from __future__ import annotations

import pytest

testing = pytest.importorskip("strands_cli_dev")


class TestSpecVerify(testing.ToolContract):  # type: ignore[name-defined, misc]
    tool = "strands_tool_spec_verify.spec_verify"
    examples = (
        {"spec_content": "version: 2\nname: draft\n"},
        {"spec_content": "{", "check_capability": True},
    )
