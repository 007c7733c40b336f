"""What every tool must do, the clock does; needs strands-cli, which the tool itself does not."""

from __future__ import annotations

import pytest

testing = pytest.importorskip("strands_cli_dev")


class TestCurrentTime(testing.ToolContract):  # type: ignore[name-defined, misc]
    tool = "strands_tool_current_time.current_time"
    examples = (
        {},
        {"timezone": "Europe/Berlin"},
        testing.Example({"timezone": "Nowhere/Atlantis"}, status="error"),
    )
