"""`PermissionPolicy` before tools of every form of plain Strands agents: the SDK's own loop, and no run of ours."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp.types import Tool
from pydantic import BaseModel
from strands import Agent, tool
from strands.hooks import BeforeToolCallEvent
from strands.interventions import Deny, InterventionHandler, Proceed, Transform
from strands.tools.mcp import MCPClient
from strands.tools.mcp.mcp_agent_tool import MCPAgentTool
from strands.types.tools import AgentTool

from strands_cli import PermissionPolicy, PermissionQuestion
from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.errors import Denied, UsageError
from strands_cli.metadata import tool_metadata
from tests.agents.kit import Script, Site
from tests.distributions import make_distribution, manifest_of
from tests.distributions import tool as described
from tests.wordings import Wording

MADE: list[str] = []
NOTHING = discover_catalog([])


@tool
def write(path: str, text: str = "x") -> str:
    """Write a text."""
    MADE.append(path)
    return "written"


@tool
@tool_metadata(read_only=True)
def look(path: str) -> str:
    """Read a text."""
    MADE.append(path)
    return "read"


@tool
@tool_metadata(destructive=True, read_only_when={"properties": {"path": {"const": "list"}}, "required": ["path"]})
async def store(path: str) -> str:
    """Change or list."""
    MADE.append(path)
    return "stored"


@tool
@tool_metadata(read_only=True)
async def watch(path: str) -> AsyncIterator[str]:
    """Read in pieces."""
    MADE.append(path)
    yield "a"
    yield "b"


class Box:
    """Holds tools as methods."""

    @tool
    @tool_metadata(read_only=True)
    def peek(self, path: str) -> str:
        """Read."""
        MADE.append(path)
        return "peeked"


@tool_metadata(read_only=True)
class Shelf(AgentTool):
    """A tool by subclass."""

    tool_name = "shelf"
    tool_type = "python"
    tool_spec: Any = {"name": "shelf", "description": "d", "inputSchema": {"json": {"type": "object"}}}  # noqa: RUF012

    async def stream(self, tool_use: Any, invocation_state: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        MADE.append(tool_use["input"]["path"])
        yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": "shelved"}]}


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    MADE.clear()


AS: dict[str, Callable[[PermissionPolicy], dict[str, Any]]] = {
    "intervention": lambda policy: {"interventions": [policy]},
    "hook": lambda policy: {"hooks": [policy]},
    "both": lambda policy: {"interventions": [policy], "hooks": [policy]},
}


def results(agent: Agent) -> list[tuple[str, str]]:
    """Return status and text of every tool result of a conversation."""
    blocks = [
        block["toolResult"] for message in agent.messages for block in message["content"] if "toolResult" in block
    ]
    return [(one["status"], one["content"][0]["text"]) for one in blocks]


def ask(
    policy: PermissionPolicy, tools: list[Any], *calls: tuple[str, dict[str, Any]], way: str = "hook", **more: Any
) -> list[tuple[str, str]]:
    """Let a model make calls in one turn, and return what it gets to see."""
    model = Script(list(calls), "done")
    agent = Agent(model=model, tools=tools, callback_handler=None, **{**AS[way](policy), **more})
    asyncio.run(agent.invoke_async("go"))
    return results(agent)


@pytest.mark.parametrize("way", AS)
def test_without_rules_what_only_reads_is_allowed_and_the_rest_is_not(way: str, wording: Wording) -> None:
    calls = [(name, {"path": name}) for name in ("look", "write", "store", "watch", "peek", "shelf")]
    tools = [look, write, store, watch, Box().peek, Shelf()]
    said = ask(PermissionPolicy(catalog=NOTHING), tools, *calls, way=way)
    assert [status for status, _ in said] == ["success", "error", "error", "success", "success", "success"]
    wording(said[1][1])
    wording(said[2][1])
    assert sorted(MADE) == ["look", "peek", "shelf", "watch"]


def test_arguments_that_only_read_are_known_by_the_tools_own_condition() -> None:
    said = ask(PermissionPolicy(catalog=NOTHING), [store], ("store", {"path": "list"}), ("store", {"path": "x"}))
    assert [status for status, _ in said] == ["success", "error"]
    assert MADE == ["list"]


@pytest.mark.parametrize("way", AS)
def test_rules_speak_of_arguments_and_deny_is_stronger_than_ask_and_ask_than_allow(way: str, wording: Wording) -> None:
    policy = PermissionPolicy(
        deny="write(path=secrets/**)", ask=["write(path=docs/b)"], allow="write(path=docs/**)", catalog=NOTHING
    )
    paths = ["docs/a", "docs/b", "docs/../secrets/key", "other"]
    said = ask(policy, [write], *(("write", {"path": path}) for path in paths), way=way)
    assert [status for status, _ in said] == ["success", "error", "error", "error"]
    assert MADE == ["docs/a"]
    wording(said[1][1])
    assert "ask='write(path=docs/b)'" in said[1][1]
    assert "deny='write(path=secrets/**)'" in said[2][1]


def test_a_rule_sees_the_defaults_of_the_tool() -> None:
    said = ask(PermissionPolicy(deny="write(text=x)", allow="*", catalog=NOTHING), [write], ("write", {"path": "a"}))
    assert said[0][0] == "error"


@pytest.mark.parametrize("way", AS)
@pytest.mark.parametrize("answer", [True, "yes", False, "no", None, 1, "y"])
def test_a_question_is_put_once_and_only_a_clear_yes_is_one(answer: Any, way: str) -> None:
    asked: list[PermissionQuestion] = []

    async def later(question: PermissionQuestion) -> Any:
        asked.append(question)
        question.arguments["path"] = "elsewhere"  # type: ignore[index]
        return answer

    policy = PermissionPolicy(on_ask=later, catalog=NOTHING)
    (said,) = ask(policy, [write], ("write", {"path": "a"}), way=way, name="clerk")
    assert len(asked) == 1
    assert (asked[0].tool, asked[0].agent) == ("write", "clerk")
    assert said[0] == ("success" if answer is True or answer == "yes" else "error")
    assert len(MADE) == (said[0] == "success")


def test_a_question_names_agent_tool_arguments_and_reason(wording: Wording) -> None:
    text = str(PermissionQuestion("wipe", {"b": 1}, "a rule", "clerk", "d"))
    assert all(part in text for part in ("clerk", "wipe", '{"b":1}', "a rule"))
    wording(text)


def test_the_reason_of_a_question_is_that_of_the_refusal_where_no_one_answers(wording: Wording) -> None:
    asked: list[PermissionQuestion] = []
    call = ("store", {"path": "a"})
    ask(PermissionPolicy(on_ask=asked.append, catalog=NOTHING), [store], call)
    ask(PermissionPolicy(on_ask=asked.append, ask="store", allow="*", catalog=NOTHING), [store], call)
    no_person = [ask(PermissionPolicy(ask=rule, catalog=NOTHING), [store], call)[0][1] for rule in ((), "store")]
    assert [question.reason in text for question, text in zip(asked, no_person, strict=True)] == [True, True]
    assert "ask='store'" in asked[1].reason
    wording([question.reason for question in asked])


def test_a_plain_function_may_answer() -> None:
    policy = PermissionPolicy(on_ask=lambda question: question.arguments["path"] == "a", catalog=NOTHING)
    said = ask(policy, [write], ("write", {"path": "a"}), ("write", {"path": "b"}))
    assert [status for status, _ in said] == ["success", "error"]


@pytest.mark.parametrize("way", AS)
def test_a_yes_holds_for_the_arguments_that_were_asked_about(way: str, wording: Wording) -> None:
    events: list[BeforeToolCallEvent] = []

    def change(question: PermissionQuestion) -> bool:
        events[-1].tool_use["input"]["path"] = "secrets/key"
        return True

    def remember(event: BeforeToolCallEvent) -> None:
        events.append(event)

    policy = PermissionPolicy(on_ask=change, catalog=NOTHING)
    given = AS[way](policy)
    more = {**given, "hooks": [remember, *given.get("hooks", [])]}
    (said,) = ask(policy, [write], ("write", {"path": "a"}), way=way, **more)
    assert (said[0], MADE) == ("error", [])
    wording(said[1])


@pytest.mark.parametrize("way", AS)
def test_a_check_that_fails_denies(way: str, caplog: pytest.LogCaptureFixture) -> None:
    def broken(question: PermissionQuestion) -> bool:
        raise RuntimeError("the secret is hunter2hunter2")

    (said,) = ask(PermissionPolicy(on_ask=broken, catalog=NOTHING), [write], ("write", {"path": "a"}), way=way)
    assert said[0] == "error"
    assert said[1].startswith("DENIED: ")
    assert "RuntimeError" in said[1]
    assert "hunter2" not in said[1]
    assert MADE == []
    # The catalog is part of the check.
    policy = PermissionPolicy(allow="*", catalog=object())  # type: ignore[arg-type]
    (said,) = ask(policy, [look], ("look", {"path": "a"}), way=way)
    assert (said[0], MADE) == ("error", [])


@pytest.mark.parametrize("way", AS)
def test_what_other_interventions_and_hooks_make_of_a_call_is_what_is_decided_on(way: str) -> None:
    class Redirects(InterventionHandler):
        name = "redirects"

        def before_tool_call(self, event: BeforeToolCallEvent, **kwargs: Any) -> Transform:
            return Transform(apply=lambda event: event.tool_use["input"].update(path="secrets/key"))  # type: ignore[union-attr]

    policy = PermissionPolicy(deny="write(path=secrets/**)", allow="*", catalog=NOTHING)
    given = AS[way](policy)
    given["interventions"] = [Redirects(), *given.get("interventions", [])]
    (said,) = ask(policy, [write], ("write", {"path": "a"}), way=way, **given)
    assert (said[0], MADE) == ("error", [])


def test_what_another_handler_has_refused_is_not_asked_about() -> None:
    class Refuses(InterventionHandler):
        name = "refuses"

        def before_tool_call(self, event: BeforeToolCallEvent, **kwargs: Any) -> Proceed | Deny:
            return Deny(reason="not today")

    asked: list[PermissionQuestion] = []
    policy = PermissionPolicy(on_ask=asked.append, catalog=NOTHING)
    for way in AS:
        given = AS[way](policy)
        given["interventions"] = [Refuses(), *given.get("interventions", [])]
        assert ask(policy, [write], ("write", {"path": "a"}), way=way, **given) == [("error", "DENIED: not today")]
    assert asked == []


def test_one_policy_serves_several_agents_and_a_structured_answer_is_not_a_call() -> None:
    class Sum(BaseModel):
        """The answer."""

        total: int

    policy = PermissionPolicy(deny="*", catalog=NOTHING)
    for way in AS:
        model = Script([("write", {"path": "a"})], [("Sum", {"total": 42})])
        agent = Agent(model=model, tools=[write], callback_handler=None, **AS[way](policy))
        answer = asyncio.run(agent.invoke_async("go", structured_output_model=Sum))
        assert answer.structured_output == Sum(total=42)
        assert results(agent)[0][0] == "error"
    assert MADE == []


MODULE = """
from strands_cli.metadata import tool_metadata
made = []
TOOL_SPEC = {"name": "disk", "description": "d", "inputSchema": {"json": {"type": "object"}}, **SAYS}
@tool_metadata(**META)
def disk(tool, **kwargs):
    made.append(tool["input"]["path"])
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"text": "ok"}]}
"""
DISK = ("disk", {"path": "a"})


def module_of(says: dict[str, Any] | None = None, **metadata: Any) -> str:
    return MODULE.replace("SAYS", repr(says or {})).replace("META", repr(metadata))


def installed(site: Path, source: str) -> tuple[Catalog, ModuleType]:
    """Install a module tool that its manifest calls read-only, and import it."""
    entry = "strands_tool_disk.disk"
    manifest = manifest_of("strands-tool-disk", described(name="disk", entry=entry, annotations={"readOnlyHint": True}))
    files = {"strands_tool_disk/__init__.py": "", "strands_tool_disk/disk.py": source}
    make_distribution(site, "strands-tool-disk", "1.0", {"disk": entry}, files, manifest)
    return discover_catalog([str(site)]), importlib.import_module(entry)


def test_a_tool_of_an_installed_distribution_is_known_by_its_names_and_its_manifest(site: Site) -> None:
    catalog, module = installed(site.directory, module_of())
    # The manifest says that it only reads; the code does not.
    assert ask(PermissionPolicy(catalog=catalog), [module], DISK) == [("success", "ok")]
    assert ask(PermissionPolicy(catalog=NOTHING), [module], DISK)[0][0] == "error"
    for name in (
        "disk",
        "native:disk",
        "strands-tool-disk/disk",
        "native:Strands_Tool_Disk/*",
        "strands_cli.tools.disk",
    ):
        assert ask(PermissionPolicy(deny=name, catalog=catalog), [module], DISK)[0][0] == "error", name
    # A module of that name that lies elsewhere is not the installed one.
    module.__file__ = str(site.directory / "elsewhere" / "strands_tool_disk" / "disk.py")
    assert ask(PermissionPolicy(catalog=catalog), [module], DISK)[0][0] == "error"


def test_what_loaded_code_says_may_only_add_to_the_manifest(site: Site, wording: Wording) -> None:
    catalog, module = installed(site.directory, module_of({"annotations": {"destructiveHint": True}}))
    (said,) = ask(PermissionPolicy(catalog=catalog), [module], DISK)
    assert (said[0], MADE, module.made) == ("error", [], [])
    wording(said[1])


def test_tool_metadata_on_the_function_of_a_module_tool_counts(site: Site) -> None:
    _, module = installed(site.directory, module_of(read_only=True))
    assert ask(PermissionPolicy(catalog=NOTHING), [module], DISK) == [("success", "ok")]


def test_a_first_party_tool_is_found_among_what_is_installed() -> None:
    from strands_tool_calculator import calculator

    call = ("calculator", {"expression": "6 * 7"})
    assert ask(PermissionPolicy(), [calculator], call)[0][0] == "success"
    assert ask(PermissionPolicy(deny="strands-tool-calculator/*"), [calculator], call)[0][0] == "error"


def test_a_rule_on_a_present_word_denies_a_call_in_earlier_words() -> None:
    from strands_tool_http_request import web_fetch

    (said,) = ask(
        PermissionPolicy(deny="web_fetch(format=text)"), [web_fetch], ("web_fetch", {"url": "?", "mode": "text"})
    )
    assert said[1].startswith("DENIED")


def remote(name: str, **hints: Any) -> MCPAgentTool:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    listed = Tool.model_validate({"name": name, "inputSchema": schema, "annotations": hints})
    return MCPAgentTool(listed, MCPClient(lambda: None))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"allow": "look"},
        {"allow": "*", "deny": "look"},
        {"allow": "*", "deny": "mcp:look"},
        {"allow": "*", "ask": "look"},
    ],
)
def test_a_server_cannot_talk_itself_free(policy: dict[str, Any], wording: Wording) -> None:
    reads = remote("look", readOnlyHint=True, destructiveHint=False, idempotentHint=True)
    (said,) = ask(PermissionPolicy(catalog=NOTHING, **policy), [reads], ("look", {"path": "a"}))
    assert said[0] == "error"
    assert all(f"{effect}={pattern!r}" in said[1] for effect, pattern in policy.items() if effect != "allow")
    wording(said[1])


def test_a_server_may_ask_for_more_care(wording: Wording) -> None:
    (said,) = ask(PermissionPolicy(catalog=NOTHING), [remote("wipe", destructiveHint=True)], ("wipe", {"path": "a"}))
    wording(said[1])


SERVER = """
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer
from mcp.types import ToolAnnotations
server = MCPServer("notes")
@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def note(path: str) -> str:
    "Return a note."
    return "note " + path
server.run("stdio")
"""


def test_a_real_server_is_called_only_where_a_rule_allows_it(tmp_path: Path) -> None:
    from mcp import StdioServerParameters, stdio_client

    (tmp_path / "server.py").write_text(SERVER)
    parameters = StdioServerParameters(command=sys.executable, args=[str(tmp_path / "server.py")])
    with MCPClient(lambda: stdio_client(parameters)) as client:  # type: ignore[arg-type,return-value]
        tools = client.list_tools_sync()
        call = ("note", {"path": "a"})
        assert ask(PermissionPolicy(catalog=NOTHING), tools, call)[0][0] == "error"
        assert ask(PermissionPolicy(allow="mcp:note(path=a)", catalog=NOTHING), tools, call) == [("success", "note a")]


def test_files_give_rules_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("version: 1\nrules:\n  - allow: write(path=docs/**)\n  - deny: look\n    reason: not here\n")
    policy = PermissionPolicy.from_file(file, deny="store", catalog=NOTHING)
    calls = [("write", {"path": "docs/a"}), ("look", {"path": "a"}), ("store", {"path": "list"})]
    said = ask(policy, [write, look, store], *calls)
    assert [status for status, _ in said] == ["success", "error", "error"]
    assert f"{file}:4: not here" in said[1][1]
    assert len(policy.rules) == 3


def test_a_policy_that_cannot_be_kept_is_refused_when_it_is_made(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        PermissionPolicy(deny="write(path")
    wording(raised.value)
    with pytest.raises(UsageError) as refused:
        PermissionPolicy(deny="native:write@1.0")
    wording(refused.value)
    (tmp_path / "broken.yaml").write_text("version: 1\nrules: [{denny: x}]\n")
    with pytest.raises(Denied):
        PermissionPolicy.from_file(tmp_path / "broken.yaml")
    (tmp_path / "locked.yaml").write_text("version: 1\nlocked: true\n")
    with pytest.raises(UsageError) as failed:
        PermissionPolicy.from_file(tmp_path / "locked.yaml")
    wording(failed.value)
