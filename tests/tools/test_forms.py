"""Every form of tool works, from its entry point through the permission check, with a model and without."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.errors import Denied, InvalidInput, NotEquipped
from strands_cli.events import ToolProgress
from strands_cli.tools.tool_loading import load_tools
from tests.agents.kit import SCHEMA, RunContext, Script, Site, asking, calling, run, text
from tests.wordings import Wording

HEAD = "from strands import tool, ToolContext\nfrom strands.types.tools import AgentTool\n"
SPEC = f"TOOL_SPEC = {{'name': 'echo', 'description': 'Echo.', 'inputSchema': {{'json': {SCHEMA!r}}}}}\n"
BARE = f"TOOL_SPEC = {{'name': 'echo', 'description': 'Echo.', 'inputSchema': {SCHEMA!r}}}\n"
OK = "{'toolUseId': tool['toolUseId'], 'status': 'success', 'content': [{'text': 'said ' + tool['input']['text']}]}"
# A decorated function's schema has a type for each property and says "required" as SCHEMA does.
AGENT_TOOL = (
    HEAD
    + f"""
class Echo(AgentTool):
    def __init__(self, config=None):
        super().__init__()
        self.word = (config or {{}}).get('word', 'said')
    tool_name = 'echo'
    tool_type = 'own'
    tool_spec = {{'name': 'echo', 'description': 'Echo.', 'inputSchema': {{'json': {SCHEMA!r}}}}}
    async def stream(self, tool_use, invocation_state, **kwargs):
        yield 'half way'
        yield {{'toolUseId': tool_use['toolUseId'], 'status': 'success',
               'content': [{{'text': self.word + ' ' + tool_use['input']['text']}}]}}
instance = Echo()
"""
)

FORMS: dict[str, tuple[str, str]] = {
    "module, sync": (SPEC + f"def echo(tool, **kwargs):\n    return {OK}\n", ""),
    "module, bare schema": (BARE + f"def echo(tool, **kwargs):\n    return {OK}\n", ""),
    "module, no keywords": (SPEC + f"def echo(tool):\n    return {OK}\n", ""),
    "module, other first name": (SPEC + f"def echo(agent, **kwargs):\n    tool = agent\n    return {OK}\n", ""),
    "module, async": (SPEC + f"async def echo(tool, **kwargs):\n    return {OK}\n", ""),
    "module, async behind a plain wrapper": (
        SPEC + f"async def inner(tool):\n    return {OK}\ndef echo(tool, **kwargs):\n    return inner(tool)\n",
        "",
    ),
    "module, async generator": (
        SPEC + f"async def echo(tool, **kwargs):\n    yield 'half way'\n    yield {OK}\n",
        "",
    ),
    "@tool, sync": (HEAD + "@tool\ndef echo(text: str) -> str:\n    return 'said ' + text\n", ":echo"),
    "@tool, async": (HEAD + "@tool\nasync def echo(text: str) -> str:\n    return 'said ' + text\n", ":echo"),
    "@tool, streaming": (
        HEAD + "@tool\nasync def echo(text: str):\n    yield 'half way'\n    yield 'said ' + text\n",
        ":echo",
    ),
    "@tool, with ToolContext": (
        HEAD + "@tool(context=True)\ndef echo(text: str, tool_context: ToolContext) -> str:\n"
        "    return tool_context.invocation_state['strands_cli']['workspace'] and 'said ' + text\n",
        ":echo",
    ),
    "AgentTool class": (AGENT_TOOL, ":Echo"),
    "AgentTool instance": (AGENT_TOOL, ":instance"),
    "module with one @tool": (HEAD + "@tool\ndef echo(text: str) -> str:\n    return 'said ' + text\n", ""),
    "class": (
        HEAD + "class Box:\n    @tool\n    def echo(self, text: str) -> str:\n        return 'said ' + text\n",
        ":Box",
    ),
    "instance": (
        HEAD
        + "class Box:\n    @tool\n    def echo(self, text: str) -> str:\n        return 'said ' + text\nbox = Box()\n",
        ":box",
    ),
}
STREAMING = [name for name in FORMS if "half way" in FORMS[name][0]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("manifest", [True, False], ids=["manifest", "source"])
def test_a_form_is_called_by_a_step_without_a_model(site: Site, form: str, manifest: bool) -> None:
    source, entry = FORMS[form]
    site.install(source, entry=entry, manifest=manifest)
    host = RunContext()
    [planned, *_] = site.plan("native:echo")
    result = calling(planned, {"text": "hi"}, host=host)
    assert (result["status"], text(result)) == ("success", "said hi")
    assert [event.value for event in host.of(ToolProgress)][:1] == (["half way"] if form in STREAMING else [])


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_called_by_a_model(site: Site, form: str) -> None:
    source, entry = FORMS[form]
    site.install(source, entry=entry)
    model = Script([("echo", {"text": "hi"})], "done")
    answer = asking(model, *site.plan("native:echo"))
    assert answer.text == "done"
    [result] = model.results
    assert (result["toolUseId"], result["status"], text(result)) == ("t1-0", "success", "said hi")
    [offered] = model.requests[0]["tools"]
    assert (offered["name"], offered["description"]) == ("echo", "Does echo.")
    assert offered["inputSchema"]["json"]["properties"]["text"]["type"] == "string"


def test_an_unfit_form_says_what_it_is(site: Site, wording: Wording) -> None:
    for number, (source, entry) in enumerate(
        [
            ("x = 1\n", ""),
            ("def echo(text):\n    return text\n", ":echo"),
            ("class Box:\n    pass\n", ":Box"),
            ("box = object()\n", ":box"),
            (SPEC, ""),
            ("TOOL_SPEC = {'name': 'echo', 'inputSchema': 'x'}\ndef echo(tool): pass\n", ""),
            ("def provide():\n    return [print]\n", ":provide"),
            ("def provide():\n    return 'abc'\n", ":provide"),
            (HEAD + "__all__ = []\n@tool\ndef echo(text: str) -> str: pass\n", ""),
        ]
    ):
        name = f"bad{number}"
        site.install(
            source.replace("'echo'", f"'{name}'").replace("def echo", f"def {name}"),
            name=name,
            entry=entry.replace("echo", name),
        )
        with pytest.raises(NotEquipped) as caught:
            site.load(f"native:{name}")
        assert f"native:{name}" in caught.value.message
        wording(caught.value.message)


# -- several tools behind one entry point

SUITE = HEAD + (
    "from strands_tool_other import foreign\n"
    "@tool\ndef one(text: str) -> str:\n    return 'one ' + text\n"
    "@tool\ndef two(text: str) -> str:\n    return 'two ' + text\n"
)
OTHER = HEAD + "@tool\ndef foreign(text: str) -> str:\n    return 'foreign'\n"


def names(site: Site, *refs: Any) -> list[str]:
    planned = site.plan(*refs)
    toolbox = run(load_tools(planned))
    return sorted(loaded.planned.name for loaded in toolbox.offered(planned))


@pytest.mark.parametrize("manifest", [True, False])
def test_a_module_gives_the_tools_it_defines_and_none_it_imports(site: Site, manifest: bool) -> None:
    site.install(OTHER, name="other")
    members = [{"name": one, "kind": "suite"} for one in ("one", "two")]
    site.install(SUITE, *members, name="suite", manifest=manifest)
    assert names(site, "native:suite") == ["one", "two"]
    assert text(site.call("native:suite.two")) == "two hi"


def test_a_module_that_a_provider_returns_gives_its_own_tools_only(site: Site) -> None:
    site.install(OTHER, name="other")
    source = SUITE + "def provide():\n    import sys\n    return sys.modules[__name__]\n"
    site.install(source, name="suite", entry=":provide", manifest=False)
    assert names(site, "native:suite") == ["one", "two"]


def test_a_module_gives_what_all_names_imported_ones_too(site: Site) -> None:
    site.install(OTHER, name="other")
    members = [{"name": one, "kind": "suite"} for one in ("foreign", "two")]
    site.install(SUITE + "__all__ = ['two', 'foreign']\n", *members, name="suite")
    assert names(site, "native:suite") == ["foreign", "two"]


def test_tool_specs_describe_several_functions_of_one_module(site: Site) -> None:
    specs = [{"name": name, "description": name, "inputSchema": {"json": SCHEMA}} for name in ("one", "two")]
    code = "".join(
        f"def {name}(tool, **kw):\n    return {{'status': 'success', 'content': [{{'text': '{name}'}}]}}\n"
        for name in ("one", "two")
    )
    site.install(f"TOOL_SPECS = {specs!r}\n{code}", name="suite", manifest=False)
    assert names(site, "native:suite") == ["one", "two"]
    assert text(site.call("native:suite.one")) == "one"


BOX = (
    HEAD
    + """
made = []
class Box:
    def __init__(self, config=None):
        self.config, self.closed = config, False
        made.append(self)
    @tool
    def put(self, text: str) -> str:
        "Put."
        return f'{len(made)} {self.config}'
    @tool
    def get(self, text: str) -> str:
        "Get."
        return 'got'
    def close(self):
        self.closed = True
"""
)
MEMBERS = [
    {"name": name, "kind": "class", "config_schema": {"type": "object"}, "description": name} for name in ("get", "put")
]


def test_a_class_is_made_once_for_a_run_with_its_config_and_closed_at_the_end(site: Site) -> None:
    site.install(BOX, *MEMBERS, name="db", entry=":Box")
    planned = site.plan({"tool": "native:db", "config": {"dsn": "x"}})
    model = Script([("put", {"text": "a"}), ("put", {"text": "b"})], "done")
    asking(model, *planned)
    assert [text(result) for result in model.results] == ["1 {'dsn': 'x'}"] * 2
    import strands_tool_db  # type: ignore[import-not-found]

    assert [box.closed for box in strands_tool_db.made] == [True]


def test_two_configurations_of_one_class_are_two_instances(site: Site) -> None:
    site.install(BOX, *MEMBERS, name="db", entry=":Box")
    one = {"tool": "native:db.put", "as": "put_a", "config": {"dsn": "a"}}
    planned = site.plan(one, {**one, "as": "put_b", "config": {"dsn": "b"}})
    model = Script([("put_a", {"text": ""}), ("put_b", {"text": ""})], "done")
    asking(model, *planned)
    assert [text(result) for result in model.results] == ["2 {'dsn': 'a'}", "2 {'dsn': 'b'}"]


def test_one_member_of_a_class_may_be_named_alone(site: Site) -> None:
    site.install(BOX, *MEMBERS, name="db", entry=":Box")
    assert names(site, "native:db.get") == ["get"]
    assert names(site, "native:db") == ["get", "put"]


@pytest.mark.parametrize(("entry", "closed"), [(":Box", True), (":make", True), (":box", False)])
def test_what_was_made_for_the_run_is_closed_and_what_the_module_owns_is_not(
    site: Site, entry: str, closed: bool
) -> None:
    source = BOX + "def make():\n    return Box()\nbox = Box()\n"
    site.install(source, name="db", entry=entry, manifest=False)
    site.call("native:db.get")
    import strands_tool_db

    assert [box.closed for box in strands_tool_db.made] == ([False, True] if closed else [False])


CLOSING = SPEC + f"closed = []\ndef echo(tool, **kwargs):\n    return {OK}\n"


@pytest.mark.parametrize(
    ("source", "closed"),
    [
        ("def close():\n    closed.append(1)\n", [1]),
        ("async def close():\n    closed.append(1)\n", [1]),
        ("def close(handle):\n    closed.append(1)\n", []),
        ("from os import close\n", []),
        ("from shutil import rmtree as close\n", []),
    ],
)
def test_the_close_of_a_module_tool_is_called_when_the_run_is_over(site: Site, source: str, closed: list[int]) -> None:
    site.install(CLOSING + source, manifest=False)
    host = RunContext()
    assert text(site.call("native:echo", {"text": "hi"}, host=host)) == "said hi"
    import strands_tool_echo  # type: ignore[import-not-found]

    assert (strands_tool_echo.closed, host.problems) == (closed, [])


def test_a_provider_that_can_be_closed_is_closed_and_let_go(site: Site) -> None:
    source = PROVIDER + "Provider.close = lambda self: log.append('closed')\n"
    site.install(source, name="suite", entry=":Provider", manifest=False)
    site.call("native:suite.echo")
    import strands_tool_suite

    assert strands_tool_suite.log[-2:] == ["let go", "closed"]


def test_what_cannot_be_closed_is_reported_and_hides_nothing(site: Site) -> None:
    bad = BOX.replace("self.closed = True", "raise SystemExit('no')")
    site.install(bad, *MEMBERS, name="db", entry=":Box")
    host = RunContext()
    assert site.call("native:db.get", host=host)["status"] == "success"
    assert host.problems == ["closing Box failed: SystemExit: no"]


PROVIDER = (
    HEAD
    + """
from strands.tools import ToolProvider
log = []
@tool
def echo(text: str) -> str:
    "Echo."
    return 'said ' + text
@tool
def shout(text: str) -> str:
    "Shout."
    return text.upper()
class Provider(ToolProvider):
    def __init__(self, config=None):
        log.append(('config', config))
    async def load_tools(self, **kwargs):
        return [echo, shout]
    def add_consumer(self, consumer_id, **kwargs):
        log.append('in use')
    def remove_consumer(self, consumer_id, **kwargs):
        log.append('let go')
def provide(config):
    log.append(('config', config))
    return [echo, shout]
async def later(**kwargs):
    return (shout, echo)
def one():
    return echo
"""
)


@pytest.mark.parametrize("entry", [":Provider", ":provide", ":later"])
def test_what_only_loading_tells_is_offered_after_loading(site: Site, entry: str) -> None:
    site.install(PROVIDER, name="suite", entry=entry, manifest=False)
    assert names(site, "native:suite") == ["echo", "shout"]
    assert text(site.call("native:suite.shout")) == "HI"


def test_a_provider_is_notified_that_it_is_in_use_and_let_go(site: Site) -> None:
    site.install(PROVIDER, name="suite", entry=":Provider", manifest=False)
    site.call("native:suite.echo")
    import strands_tool_suite  # type: ignore[import-not-found]

    assert strands_tool_suite.log == [("config", {}), "in use", "let go"]


def test_a_member_that_loading_does_not_show_is_named_with_those_that_it_does(site: Site, wording: Wording) -> None:
    site.install(PROVIDER, name="suite", entry=":provide", manifest=False)
    with pytest.raises(NotEquipped) as caught:
        site.load("native:suite.shoot")
    wording(caught.value)
    wording(caught.value.fix)


def test_a_step_cannot_call_a_whole_suite(site: Site, wording: Wording) -> None:
    site.install(PROVIDER, name="suite", entry=":provide", manifest=False)
    with pytest.raises(InvalidInput) as raised:
        site.call("native:suite")
    wording(raised.value)


def test_two_tools_that_only_loading_shows_to_have_one_name_are_refused(site: Site, wording: Wording) -> None:
    site.install(PROVIDER, name="suite", entry=":provide", manifest=False)
    site.install(PROVIDER, name="twin", entry=":one", manifest=False)
    with pytest.raises(InvalidInput) as raised:
        asking(Script("never"), *site.plan("native:suite", "native:twin"))
    wording(raised.value)


def test_names_that_the_sdk_takes_for_one_are_refused_before_the_model_is_asked(site: Site) -> None:
    site.install(FORMS["module, sync"][0])
    model = Script("never")
    with pytest.raises(InvalidInput, match=r"'a-b' .* and 'a_b'"):
        asking(model, *site.plan({"tool": "native:echo", "as": "a-b"}, {"tool": "native:echo", "as": "a_b"}))
    assert model.requests == []


def test_a_name_no_model_can_call_is_refused(site: Site, wording: Wording) -> None:
    source = HEAD + "@tool(name='my tool!')\ndef x(text: str) -> str:\n    'X.'\ndef provide():\n    return [x]\n"
    site.install(source, name="suite", entry=":provide", manifest=False)
    with pytest.raises((NotEquipped, Denied)) as raised:
        site.load("native:suite")
    wording(raised.value)


def test_metadata_of_a_decorator_reaches_policy_in_every_form(site: Site) -> None:
    says = "from strands_cli.metadata import tool_metadata\n"
    module = says + SPEC + f"@tool_metadata(read_only=True)\ndef echo(tool, **kw):\n    return {OK}\n"
    function = HEAD + says + "@tool_metadata(read_only=True)\n@tool\ndef echo(text: str) -> str:\n    return 'x'\n"
    method = (
        HEAD
        + says
        + (
            "class Box:\n    @tool_metadata(read_only=True)\n    @tool\n"
            "    def echo(self, text: str) -> str:\n        return 'x'\n"
        )
    )
    for number, (source, entry) in enumerate([(module, ""), (function, ":echo"), (method, ":Box")]):
        site.install(
            source.replace("echo", f"echo{number}"),
            name=f"echo{number}",
            entry=entry.replace("echo", f"echo{number}"),
            manifest=False,
        )
        [planned] = site.plan(f"native:echo{number}")
        assert calling(planned, {"text": "hi"}, rules=())["status"] == "success"
