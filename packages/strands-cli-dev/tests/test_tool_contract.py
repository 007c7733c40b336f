"""Every promise of a tool is noticed when it is broken: each spoiled plugin fails the tests it must and no other."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli_dev import Example, ToolContract, contract_exception
from tests.packages.tool_forms import GOOD, MANIFEST, ONE, SPOILED
from tests.wordings import Wording

pytestmark = pytest.mark.wheels

TESTS = [name for name in vars(ToolContract) if name.startswith("test_")]
# `Agent(tools=[module])` takes neither a generator for the result nor several specs.
NOT_PLAIN = {form: {"test_a_plain_agent_can_call_it"} for form in ("streaming module", "suite of specs")}
IMPORTS = "test_importing_it_changes_nothing"


class Plugin:
    """A package in a directory on `sys.path`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made = 0

    def make(self, source: str, manifest: dict[str, Any] | None = None) -> str:
        name = f"strands_tool_words_{self.made}"
        self.made += 1
        package = self.directory / name
        package.mkdir()
        (package / "__init__.py").write_text("", encoding="utf-8")
        (package / "count_words.py").write_text(source, encoding="utf-8")
        if manifest is not None:
            tool = {"name": "count_words", "entry": f"{name}.count_words", **MANIFEST, **manifest}
            document = {"manifest_version": 1, "api": {"min": 1, "max": 1}, "distribution": name, "tools": [tool]}
            (package / "strands_tools.json").write_text(json.dumps(document), encoding="utf-8")
        return f"{name}.count_words"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    monkeypatch.syspath_prepend(tmp_path)
    return Plugin(tmp_path)


def outcomes(tool_: Any, examples_: Any, *, imports: bool = True, **more: Any) -> dict[str, str]:
    """Run the standard tests; return the message of each that did not pass, of a skipped one after `skipped: `."""
    contract = type("TestIt", (ToolContract,), {"tool": tool_, "examples": examples_, "__module__": __name__, **more})()
    said = {}
    # Importing the SDK in a process for each of them would take most of the time.
    for name in TESTS if imports else [name for name in TESTS if name != IMPORTS]:
        try:
            getattr(contract, name)()
        except pytest.fail.Exception as failure:
            said[name] = str(failure)
        except pytest.skip.Exception as skipped:
            said[name] = f"skipped: {skipped}"
    return said


def failed(said: dict[str, str]) -> set[str]:
    return {name for name, text in said.items() if not text.startswith("skipped: ")}


@pytest.mark.parametrize("form", GOOD)
def test_a_good_plugin_of_each_form_passes(form: str, plugin: Plugin) -> None:
    source, attribute, examples = GOOD[form]
    said = outcomes(
        plugin.make(source, {} if form == "module" else None) + attribute,
        examples,
        imports="strands" not in source or form in ("class", "function"),
    )
    assert failed(said) == NOT_PLAIN.get(form, set())
    skipped = {name: text for name, text in said.items() if name not in failed(said)}
    assert set(skipped) == (set() if form == "module" else {"test_its_manifest_says_what_the_code_says"})
    assert all("strands_tools.json" in text for text in skipped.values())


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_plugin_fails_the_test_of_that_name(name: str, plugin: Plugin) -> None:
    spoiled = SPOILED[name]
    source, attribute, examples = GOOD[spoiled.form]
    assert spoiled.old in source
    module = plugin.make(source.replace(spoiled.old, spoiled.new), spoiled.manifest)
    examples = spoiled.examples if spoiled.examples is not None else examples
    said = outcomes(module + attribute, examples, imports="strands" not in source or IMPORTS in spoiled.fails)
    assert failed(said) == set(spoiled.fails.split()), said


def test_every_standard_test_has_a_spoiled_plugin() -> None:
    assert {name for spoiled in SPOILED.values() for name in spoiled.fails.split()} == set(TESTS)


def test_every_standard_test_says_what_to_do() -> None:
    for name in TESTS:
        said = getattr(ToolContract, name).__doc__
        assert said.count("If it fails: ") == 1, name


def test_the_reference_lists_every_standard_test() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "tool-contract.md").read_text(encoding="utf-8")
    assert re.findall(r"`(test_\w+)`", page.partition("## The tests\n")[2]) == TESTS


def test_a_failure_says_what_is_wrong_and_what_to_do(plugin: Plugin, wording: Wording) -> None:
    said = outcomes(plugin.make(GOOD["module"][0]), [Example({"text": "one"}, expected="2 words")])
    text = said["test_the_examples_give_what_is_expected"]
    assert all(part in text for part in ("count_words({'text': 'one'})", "'1 words'", "'2 words'"))
    wording(text)


@pytest.mark.parametrize(
    ("expected", "status", "passes"),
    [
        ("1 words", "success", True),
        ({"words": 1}, "success", True),
        ({"words": 2}, "success", False),
        ("1 words", "error", False),
        (None, "success", False),
    ],
)
def test_an_example_says_what_it_comes_to(expected: Any, status: Any, passes: bool, plugin: Plugin) -> None:
    said = outcomes(plugin.make(GOOD["module"][0]), [Example({"text": "one"}, expected, status)])
    assert ("test_the_examples_give_what_is_expected" not in said) is passes


# -- what a workflow gives


SECRET = """
TOOL_SPEC = {
    "name": "count_words",
    "description": "Answer whether a token is there.",
    "inputSchema": {"json": {"type": "object", "properties": {"text": {"type": "string"}}}},
    "annotations": {"readOnlyHint": True, "destructiveHint": False},
    "strands_cli": {"capabilities": {"secrets": ["TOKEN"]}},
}


def count_words(tool, **kwargs):
    ours = kwargs.get("strands_cli", {})
    text = tool["input"].get("text", "")
    is_good = isinstance(text, str)
    content = [{"text": " ".join(sorted(ours.get("secrets", {})) + sorted(ours.get("config", {})))}]
    return {"toolUseId": tool["toolUseId"], "status": "success" if is_good else "error", "content": content}
"""


def test_a_tool_gets_the_secrets_that_it_declares(plugin: Plugin) -> None:
    tool = plugin.make(SECRET)
    expected = [Example({"text": "x"}, expected="TOKEN url")]
    given = {"secrets": {"TOKEN": "s3cret"}, "config": {"url": "u"}}
    assert failed(outcomes(tool, expected, **given)) == set()
    assert "test_the_examples_give_what_is_expected" in outcomes(tool, expected)


def test_a_secret_that_no_tool_declares_is_reported(plugin: Plugin) -> None:
    said = outcomes(plugin.make(SECRET), [{"text": "x"}], secrets={"TOKEN": "a", "TOKNE": "b"})
    assert failed(said) == {"test_it_loads"}
    assert "TOKNE" in said["test_it_loads"]


@pytest.mark.parametrize("is_in_code", [True, False])
def test_settings_that_no_workflow_could_give_are_reported(plugin: Plugin, *, is_in_code: bool) -> None:
    schema = {"type": "object", "properties": {"url": {"type": "string"}}, "additionalProperties": False}
    words = "" if not is_in_code else f'    "config_schema": {schema!r},\n'
    manifest = {"config_schema": schema} if not is_in_code else None
    source = GOOD["module"][0].replace("TOOL_SPEC = {\n", f"TOOL_SPEC = {{\n{words}")
    tool = plugin.make(source, manifest)
    assert failed(outcomes(tool, ONE, config={"url": "u"}, imports=False)) == set()
    said = outcomes(tool, ONE, config={"urll": "u"}, imports=False)
    assert failed(said) == {"test_it_loads"}
    assert "urll" in said["test_it_loads"]


def test_a_module_that_a_plain_agent_refuses_fails(plugin: Plugin, tmp_path: Path) -> None:
    from strands import Agent

    tool = plugin.make(GOOD["module"][0])
    package = tool.partition(".")[0]
    (tmp_path / package / "other.py").write_text(GOOD["module"][0])
    # What the SDK says to the same.
    with pytest.raises(Exception, match="other"):
        Agent(tools=[importlib.import_module(f"{package}.other")])
    said = outcomes(f"{package}.other", ONE)
    assert failed(said) == {"test_a_plain_agent_can_call_it"}
    assert "other" in said["test_a_plain_agent_can_call_it"]


# -- overriding


def test_a_standard_test_is_not_overridden_without_a_reason() -> None:
    with pytest.raises(TypeError, match=r"\bTestIt\b.*\btest_it_loads, test_a_call_prints_nothing\b"):
        type("TestIt", (ToolContract,), {"test_it_loads": lambda self: None, "test_a_call_prints_nothing": None})


def test_a_standard_test_is_not_overridden_by_a_parent() -> None:
    class Other:
        def test_it_loads(self) -> None: ...

    with pytest.raises(TypeError, match=r"\bTestIt\b.*\btest_it_loads\b"):
        type("TestIt", (Other, ToolContract), {})


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_an_exception_needs_a_reason(reason: Any) -> None:
    with pytest.raises(ValueError, match="reason"):
        contract_exception(reason)


def test_an_exception_is_reported_with_its_reason(plugin: Plugin) -> None:
    @contract_exception("it talks")
    def quiet(self: Any) -> None: ...

    source = SPOILED["prints"]
    module = plugin.make(GOOD["module"][0].replace(source.old, source.new))
    said = outcomes(module, GOOD["module"][2], test_a_call_prints_nothing=quiet)
    assert re.fullmatch(r"skipped: .+: it talks", said.pop("test_a_call_prints_nothing"))
    assert not failed(said)


def test_what_is_in_the_place_of_a_test_counts(plugin: Plugin) -> None:
    @contract_exception("it talks")
    def quiet(self: Any) -> None:
        pytest.fail("too loud")

    said = outcomes(plugin.make(GOOD["module"][0]), ONE, test_a_call_prints_nothing=quiet)
    assert said["test_a_call_prints_nothing"] == "too loud"


# -- what the author says


@pytest.mark.parametrize("form", ["module", "function", "class", "instance", "agent tool", "provider", "suite"])
def test_the_tool_may_be_the_loaded_object(form: str, plugin: Plugin) -> None:
    source, attribute, examples = GOOD[form]
    module = importlib.import_module(plugin.make(source))
    said = outcomes(getattr(module, attribute[1:]) if attribute else module, examples, imports=False)
    assert set(said) == {"test_its_manifest_says_what_the_code_says"}


def test_a_function_of_a_module_with_a_spec_may_be_the_tool(plugin: Plugin) -> None:
    module = importlib.import_module(plugin.make(GOOD["module"][0]))
    assert set(outcomes(module.count_words, ONE)) == {"test_its_manifest_says_what_the_code_says"}


def test_tool_and_examples_may_be_properties(plugin: Plugin) -> None:
    name = plugin.make(GOOD["module"][0], {})
    assert outcomes(property(lambda self: name), property(lambda self: ONE)) == {}


def test_tool_and_examples_may_be_set_before_each_test(plugin: Plugin) -> None:
    class Late(ToolContract):
        def setup_method(self) -> None:
            self.tool = module.count_words
            self.examples = ONE

    module = importlib.import_module(plugin.make(GOOD["module"][0]))
    late = Late()
    late.setup_method()
    late.test_a_plain_agent_can_call_it()


def test_a_tool_gets_its_configuration_and_a_prepared_workspace(plugin: Plugin) -> None:
    line = "assert kwargs.get('strands_cli', {'config': 1})['config'] and os.path.getsize('a.txt')"
    source = GOOD["module"][0].replace("    return result\n", f"    {line}\n    return result\n")
    prepare = {"prepare": lambda self, place: (place / "a.txt").write_text("a")}
    module = plugin.make(source, {})
    assert outcomes(module, ONE, config={"n": 1}, **prepare) == {}
    assert "test_a_call_does_not_raise" in failed(outcomes(module, ONE, **prepare))
    assert "test_a_call_does_not_raise" in failed(outcomes(module, ONE, config={"n": 1}))


def test_an_answer_that_follows_its_workspace_is_not_mixed_up(plugin: Plugin) -> None:
    sizes = [1] * 4 + [2] * 100

    def prepare(self: Any, place: Path) -> None:
        (place / "a.txt").write_text("a" * sizes.pop(0))

    last = "    return result\n"
    source = GOOD["module"][0].replace(
        last, f"    result['content'][0]['text'] = str(os.stat('a.txt').st_size)\n{last}"
    )
    assert outcomes(plugin.make(source, {}), ONE, prepare=prepare) == {}
    assert sizes[0] == 2


def test_what_a_call_did_to_the_process_is_put_back(plugin: Plugin) -> None:
    before = Path.cwd(), list(sys.path), dict(os.environ)
    for name in ("moves", "changes the path", "changes the environment"):
        spoiled = SPOILED[name]
        outcomes(plugin.make(GOOD["module"][0].replace(spoiled.old, spoiled.new)), ONE)
    assert (Path.cwd(), sys.path, dict(os.environ)) == before


# -- by pytest itself, and without it

TEST_FILE = """
from strands_cli_dev import ToolContract, contract_exception


class TestCountWords(ToolContract):
    tool = "strands_tool_words_0.count_words"
    examples = [{"text": "three small words"}]

    @contract_exception("people wait for it")
    def test_a_call_answers_in_time(self):
        ...
"""


def test_pytest_collects_the_class_and_reports_each_test(plugin: Plugin) -> None:
    spoiled = SPOILED["prints"]
    plugin.make(GOOD["module"][0].replace(spoiled.old, spoiled.new), {})
    (plugin.directory / "test_words.py").write_text(TEST_FILE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "-rs", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(plugin.directory)}
    done = subprocess.run(command, cwd=plugin.directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"1 failed, {len(TESTS) - 2} passed, 1 skipped" in done.stdout, done.stdout
    assert re.search(r"^SKIPPED .*: people wait for it$", done.stdout, re.M)
    remedy = " ".join(str(ToolContract.test_a_call_prints_nothing.__doc__).split()).partition(" If it fails: ")[2]
    assert remedy in " ".join(re.sub(r"^E? +", "", done.stdout, flags=re.M).split())
    assert "Traceback" not in done.stdout
    assert "standard_tests.py" not in re.sub(r"^SKIPPED .*$", "", done.stdout, flags=re.M)


def test_it_needs_no_pytest(plugin: Plugin) -> None:
    spoiled = SPOILED["prints"]
    plugin.make(GOOD["module"][0].replace(spoiled.old, spoiled.new))
    program = (
        "import sys; sys.modules['pytest'] = None\n" + TEST_FILE + "\n"
        "for name in ('test_a_call_prints_nothing', 'test_its_manifest_says_what_the_code_says'):\n"
        "    try: getattr(TestCountWords(), name)()\n"
        "    except BaseException as error: print(type(error).__name__)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(plugin.directory)}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("AssertionError\nSkipTest\n", "")
