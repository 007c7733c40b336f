"""One distribution with every form that a tool may have; each tool answers with what it was given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.distributions import manifest_of, tool

DISTRIBUTION, PACKAGE = "strands-tool-zoo", "strands_tool_zoo"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SEEN = """import json

def seen(text, contract, **more):
    told = {'text': text, **more}
    if contract is not None:
        told |= {'keys': sorted(contract), 'config': contract['config'], 'root': contract['workspace']['root'],
                 'deadline': type(contract['deadline']).__name__, 'cancelled': contract['cancel'].is_set()}
    return json.dumps(told)

def result(tool, contract):
    return {'status': 'success', 'content': [{'text': seen(tool['input']['text'], contract)}]}
"""
HEAD = (
    f"from {PACKAGE} import seen, result\nfrom strands import tool, ToolContext\n"
    "from strands.tools import ToolProvider\nfrom strands.types.tools import AgentTool\n"
)
CONTEXT = "tool_context.invocation_state['strands_cli']"


@dataclass(frozen=True)
class Form:
    """One entry point: its module's source, its attribute, and the tools behind it.

    `contract` says whether the tool is given the calling contract, `made_with` whether its holder gets the config.
    """

    source: str
    attribute: str = ""
    kind: str = "module"
    members: tuple[str, ...] = ()
    contract: bool = True
    made_with: bool = False
    streams: bool = False


def _spec(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"json": SCHEMA}}


def _module(name: str, body: str, define: str = "def") -> str:
    return f"{HEAD}TOOL_SPEC = {_spec(name)!r}\n{define} {name}(tool, *, strands_cli=None, **kwargs):\n{body}"


_AGENT_TOOL = """
class Made(AgentTool):
    tool_name = '{name}'
    tool_type = 'own'
    tool_spec = {spec!r}
    async def stream(self, tool_use, invocation_state, **kwargs):
        yield 'half way'
        yield dict(result(tool_use, invocation_state['strands_cli']), toolUseId=tool_use['toolUseId'])
made = Made()
"""
_HOLDER = """
class Holder{base}:
    made = 0
    def __init__(self, config=None):
        type(self).made += 1
        self.config, self.calls = config, 0
    @tool(context=True)
    def {name}_put(self, text: str, tool_context: ToolContext) -> str:
        "Put."
        self.calls += 1
        return seen(text, {context}, made_with=self.config, made=type(self).made, calls=self.calls)
    @tool(context=True)
    async def {name}_get(self, text: str, tool_context: ToolContext) -> str:
        "Get."
        self.calls += 1
        return seen(text, {context}, made_with=self.config, made=type(self).made, calls=self.calls)
"""
_PROVIDER = """
def put_get(config):
    @tool(context=True)
    def {name}_put(text: str, tool_context: ToolContext) -> str:
        "Put."
        return seen(text, {context}, made_with=config)
    @tool(context=True)
    async def {name}_get(text: str, tool_context: ToolContext):
        "Get."
        yield 'half way'
        yield seen(text, {context}, made_with=config)
    return [{name}_put, {name}_get]
class Provided(ToolProvider):
    def __init__(self, config=None):
        self.config = config
    async def load_tools(self, **kwargs):
        return put_get(self.config)
    def add_consumer(self, consumer_id, **kwargs): pass
    def remove_consumer(self, consumer_id, **kwargs): pass
def provide(config=None):
    return put_get(config)
async def provide_later(config=None):
    return put_get(config)
"""


def _functions(name: str, *, plain: bool = False) -> str:
    one = f"@tool\ndef {name}_put(text: str) -> str:\n    'Put.'\n    return seen(text, None)\n"
    two = (
        f"@tool(context=True)\nasync def {name}_get(text: str, tool_context: ToolContext) -> str:\n    'Get.'\n"
        f"    return seen(text, {CONTEXT})\n"
    )
    return HEAD + one + ("" if plain else two)


def _decorated(name: str, head: str, body: str) -> str:
    return f"{HEAD}{head}{name}(text: str, tool_context: ToolContext):\n    'Does it.'\n{body}"


def _both(name: str) -> tuple[str, ...]:
    return (f"{name}_put", f"{name}_get")


def _forms() -> dict[str, Form]:
    answer = "    return result(tool, strands_cli)\n"
    seen = f"seen(text, {CONTEXT})"
    context = "@tool(context=True)\n"
    specs = (
        f"{HEAD}TOOL_SPECS = [{_spec('specs_put')!r}, {_spec('specs_get')!r}]\n"
        f"def specs_put(tool, strands_cli):\n{answer}async def specs_get(tool, strands_cli):\n{answer}"
    )
    holder = {name: HEAD + _HOLDER.format(name=name, base="", context=CONTEXT) for name in ("box", "thing")}
    given = {name: HEAD + _PROVIDER.format(name=name, context=CONTEXT) for name in ("source", "call", "later")}
    own = {name: HEAD + _AGENT_TOOL.format(name=name, spec=_spec(name)) for name in ("own_class", "own_instance")}
    return {
        "mod": Form(_module("mod", answer)),
        "mod_async": Form(_module("mod_async", answer, "async def")),
        "mod_stream": Form(
            _module("mod_stream", "    yield 'half way'\n    yield result(tool, strands_cli)\n", "async def"),
            streams=True,
        ),
        "fn": Form(_decorated("fn", f"{context}def ", f"    return {seen}\n"), "fn", "function"),
        "fn_plain": Form(
            f"{HEAD}@tool\ndef fn_plain(text: str) -> str:\n    'Does it.'\n    return seen(text, None)\n",
            "fn_plain",
            "function",
            contract=False,
        ),
        "fn_async": Form(
            _decorated("fn_async", f"{context}async def ", f"    return {seen}\n"), "fn_async", "function"
        ),
        "fn_stream": Form(
            _decorated("fn_stream", f"{context}async def ", f"    yield 'half way'\n    yield {seen}\n"),
            "fn_stream",
            "function",
            streams=True,
        ),
        "own_class": Form(own["own_class"], "Made", "agent_tool", streams=True),
        "own_instance": Form(own["own_instance"], "made", "agent_tool", streams=True),
        "box": Form(holder["box"], "Holder", "class", _both("box"), made_with=True),
        "thing": Form(holder["thing"] + "thing = Holder()\n", "thing", "class", _both("thing")),
        "suite": Form(_functions("suite"), "", "suite", _both("suite"), contract=False),
        "specs": Form(specs, "", "suite", _both("specs")),
        "source": Form(given["source"], "Provided", "provider", _both("source"), made_with=True),
        "call": Form(given["call"], "provide", "provider", _both("call"), made_with=True),
        "later": Form(given["later"], "provide_later", "provider", _both("later"), made_with=True),
    }


FORMS = _forms()


def entries() -> dict[str, str]:
    return {
        name: f"{PACKAGE}.{name}" + (f":{form.attribute}" if form.attribute else "") for name, form in FORMS.items()
    }


def files(*, manifest: bool) -> dict[str, str]:
    """Return the files of the distribution."""
    found = {f"{PACKAGE}/{name}.py": form.source for name, form in FORMS.items()}
    found[f"{PACKAGE}/__init__.py"] = SEEN
    if manifest:
        found[f"{PACKAGE}/strands_tools.json"] = json.dumps(manifest_of(DISTRIBUTION, *_declared()))
    return found


def _declared() -> list[dict[str, Any]]:
    settings = {"type": "object", "properties": {"word": {"type": "string"}}}
    return [
        tool(member, entries()[name], kind=form.kind, config_schema=settings)
        for name, form in FORMS.items()
        for member in form.members or (name,)
    ]
