"""A good plugin of each form, as source, and the spoiled copies of it: what is replaced, and which tests must fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SPEC = """
TOOL_SPEC = {
    "name": "count_words",
    "description": "Count the words of a text and answer their number.",
    "inputSchema": {"json": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
    }},
    "outputSchema": {"json": {
        "type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"],
    }},
    "annotations": {"readOnlyHint": True, "destructiveHint": False},
    "strands_cli": {"timeout_s": 5, "max_output_bytes": 2000},
}


def refused(tool):
    return {"toolUseId": tool["toolUseId"], "status": "error", "content": [{"text": "'text' must be a string"}]}


def counted(tool, text):
    words = len(text.split())
    content = [{"text": f"{words} words"}, {"json": {"words": words}}]
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": content}
"""

MODULE = (
    "import os\nimport sys\nimport threading\nimport time\n"
    + SPEC
    + """

def count_words(tool, **kwargs):
    text = tool["input"].get("text")
    if not isinstance(text, str):
        return refused(tool)
    result = counted(tool, text)
    return result
"""
)

ASYNC = (
    "import asyncio\n"
    + SPEC
    + """

async def count_words(tool, **kwargs):
    text = tool["input"].get("text")
    if not isinstance(text, str):
        return refused(tool)
    await asyncio.sleep(0.02)
    return counted(tool, text)
"""
)

STREAM = ASYNC.replace("return refused(tool)", "yield refused(tool)\n        return").replace(
    "return counted(tool, text)", 'yield "half way"\n    yield counted(tool, text)'
)

FUNCTION = '''
from strands import tool
from strands_cli.metadata import tool_metadata


@tool_metadata(read_only=True, destructive=False)
@tool
def count_words(text: str) -> str:
    """Count the words of a text and answer their number.

    Args:
        text: The text.
    """
    words = len(text.split())
    return f"{words} words"
'''

STREAMING = FUNCTION.replace("def count_words(text: str) -> str:", "async def count_words(text: str):").replace(
    'return f"{words} words"', 'yield "half way"\n    yield f"{words} words"'
)

CONTEXT = (
    FUNCTION.replace("from strands import tool", "from strands import ToolContext, tool")
    .replace("@tool\ndef", "@tool(context=True)\ndef")
    .replace("(text: str)", "(text: str, tool_context: ToolContext)")
    .replace(
        "    words = ",
        '    config = (tool_context.invocation_state.get("strands_cli") or {}).get("config")\n'
        "    assert config in (None, {})\n"
        "    words = ",
    )
)

CLASS = '''
import sqlite3
from strands import tool
from strands_cli.metadata import tool_metadata


class Words:
    def __init__(self, config=None):
        self.seen = {}

    @tool_metadata(read_only=True, destructive=False)
    @tool
    def count_words(self, text: str) -> str:
        """Count the words of a text and answer their number."""
        self.seen[text] = len(text.split())
        return f"{self.seen[text]} words"

    @tool_metadata(read_only=True, destructive=False)
    @tool
    async def reverse_words(self, text: str) -> str:
        """Put the words of a text in reverse order and answer them."""
        return " ".join(reversed(text.split()))

    def close(self):
        self.seen.clear()
'''

AGENT_TOOL = """
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool
""" + (
    SPEC
    + """

class CountWords(AgentTool):
    tool_name = "count_words"
    tool_spec = TOOL_SPEC
    tool_type = "python"

    async def stream(self, tool_use, invocation_state, **kwargs):
        text = tool_use["input"].get("text")
        yield ToolResultEvent(counted(tool_use, text) if isinstance(text, str) else refused(tool_use))
"""
)

SUITE = (
    FUNCTION.replace("@tool_metadata(", "__all__ = ['count_words', 'shout']\n\n\n@tool_metadata(", 1)
    + '''

@tool_metadata(read_only=True, destructive=False)
@tool
def shout(text: str) -> str:
    """Write a text in capital letters and answer it."""
    return text.upper()
'''
)

PROVIDER = (
    FUNCTION.replace("def count_words", "def _count_words").replace("@tool\n", '@tool(name="count_words")\n')
    + '''

async def provide(config=None):
    """Give the tools of this plugin."""
    return [_count_words]
'''
)

TOOL_PROVIDER = (
    PROVIDER.replace("from strands import tool", "from strands import tool\nfrom strands.tools import ToolProvider")
    + """

class Words(ToolProvider):
    async def load_tools(self, **kwargs):
        return [_count_words]

    def add_consumer(self, consumer_id, **kwargs):
        self.consumer = consumer_id

    def remove_consumer(self, consumer_id, **kwargs):
        assert self.consumer == consumer_id
"""
)

INSTANCE = CLASS + "\n\nwords = Words()\n"

ONE: Any = [{"text": "three small words"}, {"text": "one"}]
TWO: Any = {"count_words": ONE, "reverse_words": [{"text": "three small words"}]}

# Form -> source, what the entry point names in it, and examples.
GOOD: dict[str, tuple[str, str, Any]] = {
    "module": (MODULE, "", ONE),
    "async module": (ASYNC, "", ONE),
    "streaming module": (STREAM, "", ONE),
    "function of a module": (MODULE, ":count_words", ONE),
    "function": (FUNCTION, ":count_words", ONE),
    "streaming function": (STREAMING, ":count_words", ONE),
    "function with context": (CONTEXT, ":count_words", ONE),
    "class": (CLASS, ":Words", TWO),
    "instance": (INSTANCE, ":words", TWO),
    "agent tool class": (AGENT_TOOL, ":CountWords", ONE),
    "agent tool": (AGENT_TOOL + "\n\ncount_words = CountWords()\n", ":count_words", ONE),
    "suite": (SUITE, "", {"count_words": ONE, "shout": ONE}),
    "suite of specs": (MODULE + "\n\nTOOL_SPECS = [TOOL_SPEC]\ndel TOOL_SPEC\n", "", ONE),
    "provider": (PROVIDER, ":provide", ONE),
    "tool provider class": (TOOL_PROVIDER, ":Words", ONE),
}

# What the manifest of the module form says.
MANIFEST: dict[str, Any] = {
    "description": "Count the words of a text and answer their number.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
    },
    "output_schema": {"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]},
    "annotations": {"readOnlyHint": True, "destructiveHint": False},
    "strands_cli": {"timeout_s": 5, "max_output_bytes": 2000},
    "kind": "module",
    "examples": [{"input": {"text": "a b"}}],
}


@dataclass(frozen=True)
class Spoiled:
    """A good plugin in which one text replaces another; `fails` are all tests that must notice."""

    form: str
    old: str
    new: str
    fails: str
    manifest: dict[str, Any] | None = None
    examples: Any = None


RESULT = "    result = counted(tool, text)\n"
CALL = "    return result\n"


def module(old: str, new: str, fails: str, **more: Any) -> Spoiled:
    return Spoiled("module", old, new, fails, **more)


def after(line: str, fails: str, form: str = "module") -> Spoiled:
    """The module form with one more line before its answer."""
    return Spoiled(form, CALL, f"    {line}\n{CALL}", fails)


SPOILED: dict[str, Spoiled] = {
    # What it says of itself.
    "import raises": module("import os\n", "import os\n1 / 0\n", "test_it_loads"),
    "import exits": module("import os\n", "import os\nraise SystemExit(0)\n", "test_it_loads"),
    "no tool": module("def count_words(", "def other(", "test_it_loads"),
    "nothing in it": Spoiled("suite", "__all__ = ['count_words', 'shout']", "__all__ = []", "test_it_loads"),
    "bad name": Spoiled("function", "@tool\n", '@tool(name="Count-Words")\n', "test_its_names_can_be_called"),
    "no description": module(
        '"Count the words of a text and answer their number."', '""', "test_its_descriptions_tell_the_model"
    ),
    "hidden text": module("their number.", "their number.\\u202e Never mind.", "test_its_descriptions_tell_the_model"),
    "hidden text in the schema": module(
        '"description": "The text."', '"description": "The \\u200btext."', "test_its_descriptions_tell_the_model"
    ),
    "schema is none": module('"type": "string", "desc', '"type": "strong", "desc', "test_its_input_schemas_compile"),
    "schema refers to nothing": module(
        '"type": "string", "desc', '"$ref": "#/$defs/text", "desc', "test_its_input_schemas_compile"
    ),
    "schema takes anything": module('"type": "string", ', "", "test_its_input_schemas_refuse_wrong_types"),
    "example does not fit": module('"required": ["text"]', '"required": ["text", "language"]', "test_its_examples_fit"),
    "no example": module(CALL, CALL, "test_its_examples_fit", examples=[]),
    "example of another tool": Spoiled(
        "class", "Words", "Words", "test_its_examples_fit", examples={**TWO, "other_words": [{}]}
    ),
    "no hints": module(
        '"annotations": {"readOnlyHint": True, "destructiveHint": False}',
        '"annotations": {}',
        "test_its_hints_are_given_and_agree",
    ),
    "hints contradict": module('tiveHint": False', 'tiveHint": True', "test_its_hints_are_given_and_agree"),
    "read-only with writes": module(
        '"timeout_s": 5,', '"timeout_s": 5, "resources": {"writes": ["disk"]},', "test_its_hints_are_given_and_agree"
    ),
    "limit is a text": module('"timeout_s": 5', '"timeout_s": "5"', "test_its_hints_are_given_and_agree"),
    "manifest has another description": module(
        CALL, CALL, "test_its_manifest_says_what_the_code_says", manifest={"description": "Delete everything."}
    ),
    "manifest has other hints": module(
        CALL, CALL, "test_its_manifest_says_what_the_code_says", manifest={"annotations": {"readOnlyHint": False}}
    ),
    "manifest has another tool": module(
        CALL, CALL, "test_its_manifest_says_what_the_code_says", manifest={"name": "count_letters"}
    ),
    "manifest is broken": module(CALL, CALL, "test_its_manifest_says_what_the_code_says", manifest={"input_schema": 3}),
    "manifest has a bad example": module(
        CALL, CALL, "test_its_manifest_says_what_the_code_says", manifest={"examples": [{"input": {}}]}
    ),
    "import prints": module("import os\n", "import os\nprint('hello')\n", "test_importing_it_changes_nothing"),
    "import moves": module("import os\n", "import os\nos.chdir('/')\n", "test_importing_it_changes_nothing"),
    "import changes the path": module(
        "import sys\n", "import sys\nsys.path.append('/nowhere')\n", "test_importing_it_changes_nothing"
    ),
    "import starts a thread": module(
        "import time\n",
        "import time\nthreading.Thread(target=time.sleep, args=(0.5,), daemon=True).start()\n",
        "test_importing_it_changes_nothing test_a_call_leaves_no_thread",
    ),
    # What its calls answer.
    "raises": module(RESULT, "    raise KeyError(text)\n", "test_a_call_does_not_raise"),
    "exits": module(RESULT, "    sys.exit(text)\n", "test_a_call_does_not_raise"),
    "stops an iteration": module(RESULT, "    next(iter([]))\n", "test_a_call_does_not_raise"),
    "function raises": Spoiled(
        "function", "words = len", "raise KeyError(text)\n    words = len", "test_the_examples_give_what_is_expected"
    ),
    "sleeps": module(
        "def count_words(tool, **kwargs):\n",
        "TOOL_SPEC['strands_cli']['timeout_s'] = 0.1\n\n\ndef count_words(tool, **kwargs):\n    time.sleep(0.2)\n",
        "test_a_call_answers_in_time",
    ),
    "returns nothing": module(CALL, "    return None\n", "test_an_answer_is_a_result"),
    "returns text": module(CALL, "    return str(result)\n", "test_an_answer_is_a_result"),
    "has no status": after("del result['status']", "test_an_answer_is_a_result"),
    "has no content": after("result['content'] = []", "test_an_answer_is_a_result"),
    "has another id": module(
        CALL, "    result['toolUseId'] = 'use'\n    return result\n", "test_an_answer_is_a_result"
    ),
    "yields nothing": Spoiled(
        "streaming module", "    yield counted(tool, text)", "    pass", "test_an_answer_is_a_result"
    ),
    "is no JSON": after("result['content'][1]['json']['more'] = {1, 2}", "test_an_answer_is_json"),
    "is not a number": after("result['content'][1]['json']['more'] = float('nan')", "test_an_answer_is_json"),
    "holds a tuple": after("result['content'][1]['json']['more'] = (1, 2)", "test_an_answer_is_json"),
    "is huge": after("result['content'].append({'text': 'x' * 3000})", "test_an_answer_keeps_to_its_size"),
    "leaves its output schema": after(
        "result['content'][1]['json'] = {'letters': 3}",
        # The permission check does not let it pass either.
        "test_an_answer_fits_the_output_schema test_an_agent_can_call_it",
    ),
    "has no JSON": after("del result['content'][1]", "test_an_answer_fits_the_output_schema test_an_agent_can_call_it"),
    "fails": after("result['status'] = 'error'", "test_the_examples_give_what_is_expected"),
    "works once": Spoiled(
        "class",
        "        self.seen[text] = ",
        "        assert text not in self.seen\n        self.seen[text] = ",
        "test_a_second_call_answers_like_the_first",
    ),
    "shares": Spoiled(
        "async module",
        "    await asyncio.sleep(0.02)\n",
        "    global last\n    last = text\n    await asyncio.sleep(0.02)\n    text = last\n",
        "test_concurrent_calls_do_not_mix",
    ),
    "shares the id": Spoiled(
        "async module",
        "    await asyncio.sleep(0.02)\n",
        "    global last\n    last = tool\n    await asyncio.sleep(0.02)\n    tool = last\n",
        "test_concurrent_calls_do_not_mix",
    ),
    "goes on when it is cancelled": Spoiled(
        "async module",
        "    await asyncio.sleep(0.02)\n",
        "    try:\n        await asyncio.sleep(0.1)\n    except asyncio.CancelledError:\n"
        "        await asyncio.sleep(3)\n",
        "test_a_cancelled_call_ends",
    ),
    "cannot be called after it was cancelled": Spoiled(
        "agent tool class",
        "        text = tool_use",
        # It guards what it shares by refusing, so calls at once fail too, also those of one turn of an agent.
        "        import asyncio\n        if vars(self).pop('broken', False):\n            raise OSError('locked')\n"
        "        self.broken = True\n        await asyncio.sleep(0.1)\n        self.broken = False\n"
        "        text = tool_use",
        "test_a_cancelled_call_ends test_concurrent_calls_do_not_mix test_an_agent_can_call_it",
    ),
    "takes any input": module(
        "    if not isinstance(text, str):\n        return refused(tool)\n",
        "    text = str(text)\n",
        "test_bad_input_is_an_error_result",
    ),
    "raises on bad input": module(
        "        return refused(tool)\n", "        raise TypeError('text')\n", "test_bad_input_is_an_error_result"
    ),
    "wants no agent": after(
        "assert kwargs.get('agent') is None", "test_an_agent_can_call_it test_a_plain_agent_can_call_it"
    ),
    "wants the context": after("kwargs['strands_cli']['config']", "test_a_plain_agent_can_call_it"),
    "takes no state": Spoiled(
        "module", "def count_words(tool, **kwargs):", "def count_words(tool):", "test_a_plain_agent_can_call_it"
    ),
    # What its calls do besides.
    "prints": after("print('hello')", "test_a_call_prints_nothing"),
    "prints from a subprocess": after("os.write(1, b'hello')", "test_a_call_prints_nothing"),
    "leaves a thread": after(
        "threading.Thread(target=time.sleep, args=(0.5,), daemon=True).start()", "test_a_call_leaves_no_thread"
    ),
    "moves": after("os.chdir('/')", "test_a_call_leaves_the_process_as_it_was"),
    "changes the path": after("sys.path.append('/nowhere')", "test_a_call_leaves_the_process_as_it_was"),
    "changes the environment": after("os.environ['WORDS'] = text", "test_a_call_leaves_the_process_as_it_was"),
    "writes": after("open('words.txt', 'w').close()", "test_a_read_only_call_writes_nothing"),
    "cannot be closed": Spoiled("class", "self.seen.clear()", "self.seen = self.gone", "test_it_can_be_closed"),
    "class mixes": Spoiled(
        "class",
        'return " ".join(reversed(text.split()))',
        "self.text = text\n        import asyncio\n        await asyncio.sleep(0.01)\n        return self.text",
        "test_concurrent_calls_do_not_mix",
        examples={"count_words": ONE, "reverse_words": ONE},
    ),
    "second tool of a suite raises": Spoiled(
        "suite", "return text.upper()", "raise KeyError(text)", "test_the_examples_give_what_is_expected"
    ),
    "provider gives a function": Spoiled("provider", "return [_count_words]", "return [len]", "test_it_loads"),
    "agent tool raises": Spoiled(
        "agent tool",
        "        yield ToolResultEvent(",
        "        raise OSError(text)\n        yield ToolResultEvent(",
        "test_a_call_does_not_raise",
    ),
}
