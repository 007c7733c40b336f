"""`${NAME}` in `runtime`: where values come from, and what may not be named."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.planning.run_request import RunRequest
from tests.fakes.plans import chain_of

STEP = "- {agent: writer, input: go}"


def host_of(text: str, **environ: str) -> Any:
    plan = chain_of(
        STEP,
        runtime=f"{{provider: openai, model_id: m, host: '{text}'}}",
        environ={"OPENAI_API_KEY": "key-of-tests", **environ},
    )
    return plan.agents["writer"].model.host


@pytest.mark.parametrize(
    ("text", "environ", "host"),
    [
        ("http://${H}:1/v1", {"H": "one"}, "http://one:1/v1"),
        ("http://${H:-two}:1/v1", {}, "http://two:1/v1"),
        ("http://${H:-two}:1/v1", {"H": ""}, "http://two:1/v1"),
        ("http://${H:-two}:1/v1", {"H": "one"}, "http://one:1/v1"),
        ("http://${H:-}x:${P:-1}", {}, "http://x:1"),
        ("http://${H:-a}", {"H": "${SECRET_KEY}"}, "http://${SECRET_KEY}"),
    ],
)
def test_a_variable_is_replaced_by_its_value_or_its_default(text: str, environ: dict[str, str], host: str) -> None:
    assert host_of(text, **environ) == host


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "aws_secret", "GITHUB_TOKEN", "DB_PASSWORD", "MY_CREDENTIALS"])
def test_a_value_that_may_be_a_secret_is_not_taken(name: str) -> None:
    plan = chain_of(
        STEP,
        runtime=f"{{provider: openai, model_id: m, host: 'http://h/${{{name}:-no}}'}}",
        environ={"OPENAI_API_KEY": "hidden", name: "hidden"},
    )
    assert "hidden" not in str(plan)
    assert [finding.code for finding in plan.findings] == ["bad-variable"]


def test_the_host_of_the_command_line_replaces_that_of_the_file() -> None:
    plan = chain_of(
        STEP,
        runtime="{provider: openai, model_id: m, host: 'http://file:1'}",
        options=RunRequest(host="http://typed:2"),
    )
    assert plan.agents["writer"].model.host == "http://typed:2"
