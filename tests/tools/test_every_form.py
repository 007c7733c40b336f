"""Whatever form a tool has and whatever it does, a call of it ends in time as one well-formed result."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from strands_cli.errors import NotEquipped
from strands_cli.events import ToolCallFinished, ToolProgress
from strands_cli.tools.calls.agent_tools import CheckedToolCaller
from strands_cli.tools.tool_loading import key_of, load_tools
from tests.agents.kit import SCHEMA, RunContext, Script, Site, asking, calling, error, gate_of, run
from tests.wordings import Wording

OUTPUT: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
CLAIMS = {"timeout_s": 0.2, "max_output_bytes": 100}
HEAD = f"""
import asyncio, threading
from strands import tool
from strands.types.tools import AgentTool
from strands_cli.metadata import tool_metadata
SCHEMA, OUTPUT, CLAIMS = {SCHEMA!r}, {OUTPUT!r}, {CLAIMS!r}
RELEASED, LOG = threading.Event(), []
OK = lambda *content: {{'status': 'success', 'content': list(content)}}
ANSWERS = {{
    'json': OK({{'json': {{'n': 1}}}}), 'text': OK({{'text': '{{"n": 2}}'}}),
    'after': OK({{'text': '{{}}'}}, {{'text': '{{"n": 3}}'}}, {{'text': 'words'}}),
    'last': OK({{'json': {{}}}}, {{'json': {{'n': 1}}}}, {{'text': '{{}}'}}),
    'mismatch': OK({{'json': {{'n': 'x'}}}}), 'mismatch text': OK({{'text': '{{"n": []}}'}}),
    'none': OK({{'text': 'words'}}),
    'empty': OK(), 'failed': {{'status': 'error', 'content': [{{'text': 'no luck'}}]}},
    'long': OK({{'json': {{'n': 1, 'x': 'y' * 1000}}}}),
    'shape': {{'status': 'success', 'content': 'text'}}, 'status': {{'status': 'fine', 'content': []}},
}}
SPEC = {{'name': 'echo', 'description': 'Does echo.', 'inputSchema': {{'json': SCHEMA}}, 'outputSchema': OUTPUT,
        'strands_cli': CLAIMS}}
def act(text):
    LOG.append(text)
    if text == 'raise':
        raise ValueError('no')
    if text == 'exit':
        raise SystemExit('no')
    return ANSWERS.get(text)
def now(text):
    if text == 'hang':
        LOG.append('hangs')
        RELEASED.wait(120)
        LOG.append('left')
    return act(text)
async def later(text):
    if text == 'hang':
        LOG.append('hangs')
        try:
            await asyncio.Event().wait()
        finally:
            LOG.append('ended')
    return act(text)
claims = tool_metadata(**CLAIMS)
"""
TOOL_SPEC = "TOOL_SPEC = SPEC\n"
STREAM = "    yield 'half way'\n    yield await later({})\n"
OWN = """
class Echo(AgentTool):
    tool_name, tool_type, tool_spec = 'echo', 'own', SPEC
    async def stream(self, tool_use, invocation_state, **kwargs):
        yield 'half way'
        yield await later(tool_use['input']['text'])
"""
BOX = "class Box:\n    @claims\n    @tool\n    {} echo(self, text: str):\n        return {}\n"
# Source and entry point of each form, and whether its work is async.
FORMS: dict[str, tuple[str, str, bool]] = {
    "module, sync": (TOOL_SPEC + "def echo(tool, **kw):\n    return now(tool['input']['text'])\n", "", False),
    "module, async": (
        TOOL_SPEC + "async def echo(tool, **kw):\n    return await later(tool['input']['text'])\n",
        "",
        True,
    ),
    "module, generator": (
        TOOL_SPEC + "async def echo(tool, **kw):\n" + STREAM.format("tool['input']['text']"),
        "",
        True,
    ),
    "@tool, sync": ("@claims\n@tool\ndef echo(text: str):\n    return now(text)\n", ":echo", False),
    "@tool, async": ("@claims\n@tool\nasync def echo(text: str):\n    return await later(text)\n", ":echo", True),
    "@tool, streaming": ("@claims\n@tool\nasync def echo(text: str):\n" + STREAM.format("text"), ":echo", True),
    "class, sync": (BOX.format("def", "now(text)"), ":Box", False),
    "class, async": (BOX.format("async def", "await later(text)"), ":Box", True),
    "AgentTool": (OWN, ":Echo", True),
    "provider": (OWN + "def provide():\n    return [Echo()]\n", ":provide", True),
}
ASYNC = [form for form, (_, _, is_async) in FORMS.items() if is_async]
STREAMING = [form for form, (source, _, _) in FORMS.items() if "half way" in source]
# What the tool is asked to do -> the error's code and what its message shows, or None for a success.
ENDS: dict[str, tuple[str, str | None] | None] = {
    "json": None,
    "text": None,
    "after": None,
    "last": None,
    "long": None,
    "mismatch": ("invalid_output", "n: 'x' is not of type 'integer'"),
    "mismatch text": ("invalid_output", "n: [] is not of type 'integer'"),
    "none": ("invalid_output", "JSON"),
    "empty": ("invalid_output", "JSON"),
    "failed": ("tool_failed", "no luck"),
    "shape": ("invalid_output", None),
    "status": ("invalid_output", "'fine'"),
    "raise": ("tool_failed", "no"),
    "exit": ("tool_failed", "no"),
    "hang": ("timeout", "0.2 s"),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def install(site: Site, form: str) -> Any:
    source, entry, _ = FORMS[form]
    declared = {"output_schema": OUTPUT, "strands_cli": CLAIMS}
    site.install(HEAD + source, declared, entry=entry)
    return site.plan("native:echo")[0]


def log() -> tuple[threading.Event, list[str]]:
    import strands_tool_echo  # type: ignore[import-not-found]

    return strands_tool_echo.RELEASED, strands_tool_echo.LOG


def called(planned: Any, *texts: str) -> list[tuple[dict[str, Any], RunContext]]:
    """Call a tool several times in one loop, as one run does."""
    hosts = [RunContext() for _ in texts]

    async def work() -> list[dict[str, Any]]:
        toolbox = await load_tools([planned])
        caller = CheckedToolCaller(toolbox, gate_of())
        try:
            return [
                dict(await caller.call_tool(planned, {"text": text}, host.scope()))
                for text, host in zip(texts, hosts, strict=True)
            ]
        finally:
            await toolbox.close()
            log()[0].set()

    return list(zip(run(work()), hosts, strict=True))


def test_every_end_is_one_result_with_its_code(site: Site, form: str, wording: Wording) -> None:
    messages: dict[str, str] = {}
    for (result, host), (text, expected) in zip(called(install(site, form), *ENDS), ENDS.items(), strict=True):
        got = None if result["status"] == "success" else error(result)
        code, named = expected or (None, None)
        assert (got and got["code"]) == code, (text, result)
        assert got is None or named is None or named in got["message"]
        messages |= {text: got["message"]} if got else {}
        [finished] = host.of(ToolCallFinished)
        assert finished.error_code == code
        assert finished.truncated is (text == "long")
        [row] = host.rows("tool").values()
        assert (row.status, row.output["status"]) == ("done", result["status"])
        begun = ["half way"] if form in STREAMING else []
        assert [event.value for event in host.of(ToolProgress)] == begun, text
    wording(messages)


def test_what_is_cut_has_kept_its_promise_first(site: Site, form: str) -> None:
    [(result, _)] = called(install(site, form), "long")
    assert result["status"] == "success"
    assert result["content"][-1]["json"]["truncated"] is True
    assert len(result["content"][0]["text"]) == 100


def test_a_cancelled_call_is_left_in_the_journal_as_begun(site: Site, form: str) -> None:
    planned = install(site, form)
    host = RunContext()

    async def work() -> None:
        caller = CheckedToolCaller(await load_tools([planned]), gate_of())
        released, said = log()
        task = asyncio.create_task(caller.call_tool(planned, {"text": "hang"}, host.scope()))  # type: ignore[arg-type]
        while "hangs" not in said and not task.done():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ("ended" in said) is (form in ASYNC)
        released.set()

    run(work())
    assert [row.status for row in host.rows("tool").values()] == ["started"]
    assert host.of(ToolCallFinished) == []


@pytest.mark.parametrize("form", STREAMING)
def test_what_a_stream_says_is_reported_while_the_tool_works(site: Site, form: str) -> None:
    planned = install(site, form)
    host = RunContext()

    async def work() -> None:
        caller = CheckedToolCaller(await load_tools([planned]), gate_of())
        task = asyncio.create_task(caller.call_tool(planned, {"text": "hang"}, host.scope()))  # type: ignore[arg-type]
        while not host.of(ToolProgress) and not task.done():
            await asyncio.sleep(0.001)
        assert not task.done()
        task.cancel()
        await asyncio.wait({task})

    run(work())
    assert [event.value for event in host.of(ToolProgress)] == ["half way"]


def test_what_a_tool_says_by_the_sdks_own_events_is_reported_before_its_result(site: Site) -> None:
    source = (
        "from strands.types.events import ToolResultEvent\n"
        "class Echo(AgentTool):\n"
        "    tool_name, tool_type, tool_spec = 'echo', 'own', SPEC\n"
        "    async def stream(self, tool_use, invocation_state, **kwargs):\n"
        "        yield {'tool_stream_event': {'tool_use': tool_use, 'data': 'one'}}\n"
        "        yield {'tool_stream_event': {'tool_use': tool_use, 'data': 'two'}}\n"
        "        yield ToolResultEvent({**act('json'), 'toolUseId': tool_use['toolUseId']})\n"
    )
    site.install(HEAD + source, {"output_schema": OUTPUT, "strands_cli": CLAIMS}, entry=":Echo")
    host = RunContext()
    assert calling(site.plan("native:echo")[0], {"text": "json"}, host=host)["status"] == "success"
    assert [event.value for event in host.of(ToolProgress)] == ["one", "two"]


# -- output schemas


def promising(site: Site, schema: Any, answer: str) -> Any:
    spec = {"name": "echo", "description": "E.", "inputSchema": {"json": SCHEMA}, "outputSchema": schema}
    site.install(f"TOOL_SPEC = {spec!r}\ndef echo(tool, **kw):\n    return {answer}\n", manifest=False)
    return site.plan("native:echo")[0]


@pytest.mark.parametrize("schema", [OUTPUT, {"json": OUTPUT}], ids=["bare", "under json"])
def test_both_forms_of_an_output_schema_hold(site: Site, schema: Any, wording: Wording) -> None:
    answer = "{'status': 'success', 'content': [{'json': {}}]}"
    result = calling(promising(site, schema, answer), {"text": "hi"})
    wording(error(result)["message"])


@pytest.mark.parametrize("before", ["", "." * 470], ids=["whole", "at the edge of the cut"])
def test_the_place_of_a_misfit_is_reported_and_no_secret(site: Site, before: str) -> None:
    secret = "sk-0123456789abcdef"
    schema = {"properties": {"rows": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    answer = f"{{'status': 'success', 'content': [{{'json': {{'rows': [{{}}, {{'n': '{before}{secret}'}}]}}}}]}}"
    result = calling(promising(site, schema, answer), {"text": "hi"}, secrets=[secret])
    assert f"rows[1].n: '{before}[secret]" in error(result)["message"]
    assert secret[:6] not in str(result)


def test_what_a_hook_plugin_answers_in_place_of_the_tool_is_checked_against_its_promise_too(site: Site) -> None:
    planned = install(site, "module, sync")

    async def silenced(_call: Any, proceed: Any) -> Any:
        assert (await proceed())["status"] == "success"
        return {"status": "success", "content": [{"text": "words"}]}

    async def work() -> Any:
        toolbox = await load_tools([planned])
        [loaded] = toolbox.get(planned)
        toolbox.tools[key_of(planned)] = [replace(loaded, wrappers=(("p", silenced),))]
        return await CheckedToolCaller(toolbox, gate_of()).call_tool(planned, {"text": "json"}, RunContext().scope())  # type: ignore[arg-type]

    assert error(run(work()))["code"] == "invalid_output"


def test_structured_content_of_another_server_is_what_was_promised(site: Site) -> None:
    schema = {"type": "object", "required": ["n"]}
    answer = "{'status': 'success', 'content': [{'text': 'words'}], 'structuredContent': {'n': tool['input']['text']}}"
    assert calling(promising(site, schema, answer), {"text": "hi"})["status"] == "success"
    answer = "{'status': 'success', 'content': [{'text': 'words'}], 'structuredContent': {}}"
    site.install(
        f"TOOL_SPEC = {{'name': 'two', 'description': 'T.', 'inputSchema': {SCHEMA!r}, 'outputSchema': "
        f"{schema!r}}}\ndef two(tool, **kw):\n    return {answer}\n",
        name="two",
        manifest=False,
    )
    assert error(calling(site.plan("native:two")[0], {"text": "hi"}))["code"] == "invalid_output"


@pytest.mark.parametrize("kind", ["input", "output"])
@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"type": "objct"}, {"$ref": "http://127.0.0.1:9/s.json"}], ids=str)
def test_a_tool_with_a_hostile_schema_is_refused_before_the_first_call(
    site: Site, kind: str, schema: Any, wording: Wording
) -> None:
    spec = {"name": "echo", "description": "E.", "inputSchema": {"json": SCHEMA}, f"{kind}Schema": {"json": schema}}
    site.install(f"TOOL_SPEC = {spec!r}\ndef echo(tool, **kw):\n    pass\n", manifest=False)
    with pytest.raises(NotEquipped) as raised:
        site.load("native:echo")
    wording(raised.value)


def test_a_tool_cannot_change_what_it_promised_or_asks_for_once_it_is_loaded(site: Site) -> None:
    change = (
        "    TOOL_SPEC['inputSchema']['json'].clear()\n    TOOL_SPEC['outputSchema'].clear()\n"
        "    TOOL_SPEC.setdefault('annotations', {})['readOnlyHint'] = True\n"
    )
    spec = {"name": "echo", "description": "E.", "inputSchema": {"json": SCHEMA}, "outputSchema": OUTPUT}
    spec["annotations"] = {"readOnlyHint": False}
    good = "    return {'status': 'success', 'content': [{'json': {'n': tool['input']['text'] == 'a' or ''}}]}\n"
    site.install(f"TOOL_SPEC = {spec!r}\ndef echo(tool, **kw):\n{change}{good}", manifest=False)
    planned = site.plan("native:echo")[0]

    async def work() -> None:
        toolbox = await load_tools([planned])
        caller = CheckedToolCaller(toolbox, gate_of())
        for arguments, code in (({"text": "b"}, "invalid_output"), ({"text": 1}, "invalid_input")):
            assert error(await caller.call_tool(planned, arguments, RunContext().scope()))["code"] == code  # type: ignore[arg-type]
        denied = await CheckedToolCaller(toolbox, gate_of(())).call_tool(planned, {"text": "b"}, RunContext().scope())  # type: ignore[arg-type]
        assert error(denied)["code"] == "denied"
        [loaded] = toolbox.get(planned)
        assert (loaded.schema, loaded.output_schema) == (SCHEMA, OUTPUT)
        assert loaded.spec["annotations"] == {"readOnlyHint": False}

    run(work())


@pytest.mark.parametrize(
    "hints", ["readOnlyHint", ["readOnlyHint"], 1, None, {"readOnlyHint": "yes"}, {"readOnlyHint": 1}]
)
@pytest.mark.parametrize("word", ["annotations", "strands_cli", "description"])
def test_metadata_of_another_shape_says_nothing_and_breaks_nothing(
    site: Site, word: str, hints: Any, wording: Wording
) -> None:
    spec = {"name": "echo", "description": "E.", "inputSchema": {"json": SCHEMA}, word: hints}
    answer = "{'status': 'success', 'content': [{'text': 'x'}]}"
    source = f"TOOL_SPEC = dict({spec!r})\ndef provide():\n    import sys\n    return sys.modules[__name__]\n"
    site.install(f"{source}def echo(tool, **kw):\n    return {answer}\n", entry=":provide", manifest=False)
    [planned] = site.plan("native:echo")
    [loaded] = site.load("native:echo").get(planned)
    assert isinstance(loaded.spec["annotations"], dict)
    denied = calling(planned, {"text": "hi"}, rules=())
    wording(error(denied)["message"])
    assert calling(planned, {"text": "hi"})["status"] == "success"
    model = Script([("echo", {"text": "hi"})], "done")
    assert asking(model, planned).text == "done"
    assert isinstance(model.requests[0]["tools"][0]["description"], str)


# -- arguments of a hostile model


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "a", "x": nested(65)},
        {"text": "a", "x": nested(900)},
        {"text": "\ud800"},
        {"text": float("nan")},
        {"text": "a", "\udfff": 1},
        {"text": b"x"},
        {"text": {1, 2}},
    ],
    ids=["deep", "very deep", "half a pair", "NaN", "half a pair as name", "bytes", "set"],
)
def test_arguments_that_no_journal_could_hold_are_refused_and_the_run_goes_on(
    site: Site, arguments: Any, wording: Wording
) -> None:
    planned = install(site, "module, sync")
    host = RunContext()
    result = calling(planned, arguments, host=host)
    assert error(result)["code"] == "invalid_input"
    wording(error(result)["message"])
    assert log()[1] == []
    assert [row.status for row in host.rows("tool").values()] == ["done"]
