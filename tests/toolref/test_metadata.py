from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from strands import tool
from strands.types.tools import AgentTool

from strands_cli.metadata import ToolMetadata, metadata_of, tool_metadata


def test_the_words_come_out_as_tool_spec_and_manifest_write_them() -> None:
    @tool_metadata(
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        title="Echo",
        requires_confirmation=False,
        read_only_when={"properties": {"method": {"const": "GET"}}},
        capabilities={"network": []},
        resources={"reads": ["file:{path}"]},
        timeout_s=2.5,
        max_output_bytes=100,
    )
    def echo(text: str) -> str:
        return text

    assert metadata_of(echo) == ToolMetadata(
        annotations={
            "title": "Echo",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        strands_cli={
            "requires_confirmation": False,
            "read_only_when": {"properties": {"method": {"const": "GET"}}},
            "capabilities": {"network": []},
            "resources": {"reads": ["file:{path}"]},
            "timeout_s": 2.5,
            "max_output_bytes": 100,
        },
    )


def test_the_decorator_gives_back_the_very_object() -> None:
    def echo() -> None: ...

    assert tool_metadata(read_only=True)(echo) is echo


def test_what_is_not_declared_is_absent() -> None:
    @tool_metadata(destructive=True)
    def wipe() -> None: ...

    said = metadata_of(wipe)
    assert said is not None
    assert dict(said.annotations) == {"destructiveHint": True}
    assert dict(said.strands_cli) == {}
    assert metadata_of(len) is None


class Both:
    @tool_metadata(read_only=True)
    @tool
    def above(self, text: str) -> str:
        """Say it."""
        return text

    @tool
    @tool_metadata(read_only=True)
    def below(self, text: str) -> str:
        """Say it."""
        return text


@pytest.mark.parametrize("name", ["above", "below"])
def test_a_tool_method_carries_it_on_the_class_and_on_every_instance(name: str) -> None:
    for carrier in (getattr(Both, name), getattr(Both(), name)):
        said = metadata_of(carrier)
        assert said is not None
        assert said.annotations["readOnlyHint"] is True


def test_an_agent_tool_class_carries_it_and_its_subclass_does_not() -> None:
    @tool_metadata(read_only=True)
    class Look(AgentTool):
        tool_name = "look"
        tool_type = "python"

        @property
        def tool_spec(self) -> Any:
            return {"name": "look", "description": "Looks.", "inputSchema": {"json": {"type": "object"}}}

        async def stream(self, *_args: Any, **_kwargs: Any) -> Any:
            yield None

    class LookAndWipe(Look):
        pass

    assert metadata_of(Look) is not None
    assert metadata_of(Look()) is not None
    assert metadata_of(LookAndWipe) is None
    assert metadata_of(LookAndWipe()) is None


def test_the_outer_decorator_wins_field_by_field() -> None:
    @tool_metadata(read_only=False, timeout_s=3)
    @tool_metadata(read_only=True, idempotent=True)
    def echo() -> None: ...

    said = metadata_of(echo)
    assert said is not None
    assert dict(said.annotations) == {"readOnlyHint": False, "idempotentHint": True}
    assert dict(said.strands_cli) == {"timeout_s": 3}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({"read_only": "yes"}, TypeError),
        ({"requires_confirmation": 1}, TypeError),
        ({"capabilities": ["network"]}, TypeError),
        ({"title": 3}, TypeError),
        ({"timeout_s": "5"}, TypeError),
        ({"timeout_s": True}, TypeError),
        ({"max_output_bytes": 1.5}, TypeError),
        ({"timeout_s": 0}, ValueError),
        ({"max_output_bytes": -1}, ValueError),
    ],
)
def test_a_wrong_value_is_refused_at_decoration(words: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind, match=next(iter(words))):
        tool_metadata(**words)


def test_the_module_imports_no_sdk() -> None:
    program = "import strands_cli.metadata, sys; assert not {'strands', 'pydantic', 'asyncio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
