"""The contract of every tool, as tests; an author only names the tool and examples of its input."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from strands_cli_dev import tool_checks as checks
from strands_cli_dev.import_effects import check_import, module_of, top_of
from strands_cli_dev.performed_calls import (
    cancelled,
    check_concurrent,
    check_same,
    refusals,
    results_by_agent,
    results_by_plain_agent,
)
from strands_cli_dev.rehearsal import Example, PluginSettings, Rehearsal, Scene, rehearse
from strands_cli_dev.standard_tests import require_standard_tests, skip, standard


class ToolContract:
    """The standard tests of a tool; derive from it, in a class whose name begins with `Test`, and set two attributes.

    A standard test may be overridden only by one decorated with `@contract_exception("why")`.

    Attributes:
        tool: The value of its entry point (`"package.module:attribute"`), or the object that it refers to.
        examples: Valid inputs, as objects or `Example`s; of a plugin with several tools a mapping from each name to
            such a list. Two different examples let the test of concurrent calls find mixed-up answers.
        config: The configuration, as in a workflow.
        secrets: The values of secrets by name; each tool gets those that it declares, as in a run.
    """

    tool: Any = None
    examples: Any = ()
    config: Mapping[str, Any] = {}
    secrets: Mapping[str, str] = {}

    _rehearsed: ClassVar[Rehearsal | None] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Refuse a class that overrides a standard test without a reason."""
        super().__init_subclass__(**keywords)
        require_standard_tests(ToolContract, cls)
        cls._rehearsed = None

    def prepare(self, workspace: Path) -> None:
        """Write the files that the examples need into a fresh workspace, the current directory of the calls."""

    # -- its declarations

    @standard
    def test_it_loads(self) -> Iterator[str]:
        """It loads and has at least one tool, with the given `config` and `secrets`.

        If it fails: import the module by hand and fix its exception, and correct `config` and `secrets`;
        docs/reference/writing-tools.md lists the forms that a tool may have.
        """
        rehearsal = self._rehearsal()
        if rehearsal.problem is not None or not rehearsal.tools:
            yield f"it does not load: {rehearsal.problem or 'it has no tool'}"
        manifest = checks.manifest_beside(top_of(self._plugin()))
        yield from checks.check_secrets(self.secrets, rehearsal.tools)
        yield from checks.check_config(self.config, rehearsal.tools, manifest)

    @standard
    def test_its_names_can_be_called(self) -> Iterator[str]:
        """Each name can be used by models, workflows and policies.

        If it fails: use lower-case letters, digits and `_`, at most 64, a letter first, and the same name in the
        entry point, in the spec and for the function.
        """
        tools = self._loaded().tools
        for tool in tools.values():
            yield from checks.check_name(tool, is_single=len(tools) == 1)

    @standard
    def test_its_descriptions_tell_the_model(self) -> Iterator[str]:
        """Each tool has a description, in characters that a person can see.

        If it fails: describe the effect of the tool, when to use it and its answer; remove control, direction and
        zero-width characters, which can show a person another text than the model reads.
        """
        for tool in self._loaded().tools.values():
            yield from checks.check_description(tool)

    @standard
    def test_its_input_schemas_compile(self) -> Iterator[str]:
        """Each input schema is a JSON Schema (2020-12) of an object, whose references resolve inside it.

        If it fails: correct the schema at the place named; write `"type": "object"` at its top.
        """
        for tool in self._loaded().tools.values():
            yield from checks.check_schema(tool)

    @standard
    def test_its_input_schemas_refuse_wrong_types(self) -> Iterator[str]:
        """Each property refuses something.

        If it fails: add to the property a `type`, an `enum` or a `$ref`; for an `@tool` function, a type annotation.
        """
        for tool in self._valid().tools.values():
            yield from checks.check_strictness(tool)

    @standard
    def test_its_examples_fit(self) -> Iterator[str]:
        """Each tool has at least one example, and its input schema accepts every one.

        If it fails: correct the example or the schema; `examples` of a plugin with several tools is a mapping from each
        name to a list.
        """
        tools = self._valid().tools
        examples = self._examples(tools)
        yield from (f"there is no example of {name}" for name in tools if not examples.get(name))
        yield from (f"there are examples of {name!r}, which it does not have" for name in examples if name not in tools)
        for name, tool in tools.items():
            for example in examples.get(name, ()):
                problem = checks.input_problem(tool, example.input)
                if problem is not None:
                    yield f"the example {dict(example.input)!r} of {name} does not fit: {problem}"

    @standard
    def test_its_hints_are_given_and_agree(self) -> Iterator[str]:
        """Each tool declares whether it is read-only and destructive, and its hints are consistent.

        If it fails: set `readOnlyHint` and `destructiveHint` (or `@tool_metadata(read_only=..., destructive=...)`).
        A missing hint is unknown, and then a person is asked before every call.
        """
        for tool in self._loaded().tools.values():
            yield from checks.check_hints(tool)

    @standard
    def test_its_manifest_says_what_the_code_says(self) -> Iterator[str]:
        """The manifest beside the code has the name, description, schemas and hints of the loaded tools.

        If it fails: run `strands plugin manifest --write`. A tool that differs from its manifest is refused.
        """
        rehearsal = self._loaded()
        file = checks.manifest_beside(top_of(self._plugin()))
        if file is None:
            skip("there is no strands_tools.json beside the code (the build hook may make it)")
        plugin = self._plugin()
        yield from checks.check_manifest(file, rehearsal.tools, plugin if isinstance(plugin, str) else None)

    @standard
    def test_importing_it_changes_nothing(self) -> Iterator[str]:
        """Importing its module in a fresh process prints nothing, starts no thread and changes no state of the process.

        If it fails: move the effects at the module's top level into the function that needs them.
        """
        self._loaded()
        name = module_of(self._plugin())
        if name is None or name == type(self).__module__:
            skip("its module cannot be imported by name in another process")
        yield from check_import(name)

    # -- the answers of its calls

    @standard
    def test_a_call_does_not_raise(self) -> Iterator[str]:
        """A call of an example returns, and raises nothing, not even SystemExit or StopIteration.

        If it fails: catch possible errors and return a result with the status `error` and a text that the model can act
        on; do not use `sys.exit`, or `next()` without a default, in tools.
        """
        for scene in self._scenes():
            for outcome in (scene.first, scene.second):
                if outcome.raised is not None:
                    yield f"{scene.title} raised {type(outcome.raised).__name__}: {outcome.raised}"
                    break

    @standard
    def test_a_call_answers_in_time(self) -> Iterator[str]:
        """A call of an example answers within `timeout_s` (120 seconds by default).

        If it fails: set a shorter time limit for the tool's own waits, or declare a longer `timeout_s`.
        """
        for scene in self._scenes():
            if scene.first.late or scene.second.late:
                yield f"{scene.title} did not answer within {scene.limit:g} s"

    @standard
    def test_an_answer_is_a_result(self) -> Iterator[str]:
        """An answer has the `toolUseId` of its call, a status, and a list of content blocks.

        If it fails: return `{"toolUseId": tool["toolUseId"], "status": "success", "content": [{"text": ...}]}`.
        """
        for scene in self._scenes(answered=True):
            yield from (f"{scene.title}: {it}" for it in checks.check_shape(scene.first.value, "use-1"))

    @standard
    def test_an_answer_is_json(self) -> Iterator[str]:
        """JSON preserves the content of an answer.

        If it fails: convert dates, decimals, sets, tuples and objects into texts, numbers, lists and mappings with text
        keys, and NaN into null.
        """
        for scene in self._scenes(shaped=True):
            yield from (f"{scene.title}: {it}" for it in checks.check_json(scene.first.value))

    @standard
    def test_an_answer_keeps_to_its_size(self) -> Iterator[str]:
        """An answer has at most `max_output_bytes` (65536 by default); more would be cut.

        If it fails: answer in parts (an offset and a limit as inputs), or declare a larger `max_output_bytes`.
        """
        for scene in self._scenes(shaped=True):
            tool = self._loaded().tools[scene.tool]
            yield from (f"{scene.title}: {it}" for it in checks.check_size(scene.first.value, tool))

    @standard
    def test_an_answer_fits_the_output_schema(self) -> Iterator[str]:
        """A successful answer of a tool with an output schema has a last JSON block that fits it.

        If it fails: correct the answer or the schema; a field that can be absent is not `required`.
        """
        for scene in self._scenes(shaped=True):
            tool = self._loaded().tools[scene.tool]
            yield from (f"{scene.title}: {it}" for it in checks.check_output(scene.first.value, tool))

    @standard
    def test_the_examples_give_what_is_expected(self) -> Iterator[str]:
        """Each example returns its expected status and answer.

        If it fails: correct the tool or the example; an example that should fail is `Example(..., status="error")`.
        """
        for scene in self._scenes(shaped=True):
            yield from scene.check_expected()

    @standard
    def test_a_second_call_answers_like_the_first(self) -> Iterator[str]:
        """The same call a second time, in an equal workspace, returns the same status.

        If it fails: keep no state from one call that disturbs the next one; close files and connections.
        """
        for scene in self._scenes(shaped=True):
            yield from check_same(scene)

    @standard
    def test_concurrent_calls_do_not_mix(self) -> Iterator[str]:
        """Concurrent calls, as parallel steps make them, do not affect each other's answers.

        If it fails: keep the state of one call in local variables, not in the module or on the instance.
        """
        scenes = [scene for scene in self._scenes(shaped=True) if scene.second.in_shape]
        # A call that changes something may return another answer when it is repeated in one place.
        tools = self._loaded().tools
        yield from check_concurrent(
            *self._plugin_settings_and_prepare(), [scene for scene in scenes if tools[scene.tool].is_repeatable]
        )

    @standard
    def test_a_cancelled_call_ends(self) -> Iterator[str]:
        """A cancelled call ends within a second, and the next call is answered.

        If it fails: let `asyncio.CancelledError` through (`except Exception`, not a bare `except`), and check
        `strands_cli["cancel"]` in code that runs in threads.
        """
        yield from cancelled(*self._plugin_settings_and_prepare(), self._scenes(shaped=True))

    @standard
    def test_bad_input_is_an_error_result(self) -> Iterator[str]:
        """Input that the schema refuses is a result with the status `error`, not an exception and not a success.

        If it fails: check the input at the start of the tool, since a plain Strands agent does not do so for a module
        tool, and name the wrong field in the error.
        """
        yield from refusals(*self._plugin_settings_and_prepare(), self._scenes(shaped=True))

    @standard
    def test_an_agent_can_call_it(self) -> Iterator[str]:
        """An agent of strands-cli makes the calls in one turn, through the permission check, and gets the results.

        If it fails: the message names the part that the check or the agent's loop did not accept; compare the direct
        call.
        """
        self._named()
        yield from results_by_agent(*self._plugin_settings_and_prepare(), self._scenes(shaped=True))

    @standard
    def test_a_plain_agent_can_call_it(self) -> Iterator[str]:
        """`Agent(tools=[...])` of the SDK takes it and makes the same call, with nothing of strands-cli in the state.

        If it fails: give the module of a `TOOL_SPEC` the name of its function (`strands_tool_yours/foo.py`), write one
        that streams as a `@tool` function, and work without `strands_cli` in the keywords: read it with `.get()`.
        """
        self._named()
        yield from results_by_plain_agent(*self._plugin_settings_and_prepare(), self._scenes(shaped=True))

    # -- the side effects of its calls

    @standard
    def test_a_call_prints_nothing(self) -> Iterator[str]:
        """A call writes nothing to standard output, which belongs to the program that runs the workflow.

        If it fails: put text for the model into the result, and text for people into `logging`.
        """
        for scene in self._scenes():
            if scene.traces.printed:
                yield f"{scene.title} printed {scene.traces.printed[:200]!r}"

    @standard
    def test_a_call_leaves_no_thread(self) -> Iterator[str]:
        """When the calls are over and the tool is closed, no thread continues.

        If it fails: join the threads that a call starts; stop those of a class in its `close()`.
        """
        yield from (f"the thread {name!r} continues" for name in self._loaded().threads)

    @standard
    def test_a_call_leaves_the_process_as_it_was(self) -> Iterator[str]:
        """A call changes neither the current directory nor `sys.path` nor the environment.

        If it fails: use absolute paths instead of `os.chdir`, and pass `env=` to a child process.
        """
        for scene in self._scenes():
            yield from (f"{scene.title} changed {change}" for change in scene.traces.changed)

    @standard
    def test_a_read_only_call_writes_nothing(self) -> Iterator[str]:
        """A tool with `readOnlyHint` changes no file of its workspace.

        If it fails: set `readOnlyHint: false`, since read-only tools are called without asking; or do not write.
        """
        for scene in self._scenes():
            if scene.traces.written and self._loaded().tools[scene.tool].reads_only(scene.example.input):
                yield f"{scene.title} is declared read-only and wrote {', '.join(scene.traces.written)}"

    @standard
    def test_it_can_be_closed(self) -> Iterator[str]:
        """At the end of a run it releases its resources without an error.

        If it fails: make `close()`, `aclose()` or `cleanup()` safe to call in every state.
        """
        yield from self._loaded().closing

    # -- shared by the tests

    def _plugin(self) -> Any:
        """Return `tool` unchanged: a function or a `@tool` as a class attribute must not become a method."""
        static_tool = inspect.getattr_static(self, "tool")
        if isinstance(static_tool, staticmethod):
            return static_tool.__func__
        return self.tool if isinstance(static_tool, (property, functools.cached_property)) else static_tool

    def _examples(self, names: Iterable[str]) -> Mapping[str, tuple[Example, ...]]:
        examples, names = self.examples, list(names)
        if isinstance(examples, Mapping):
            return {name: _as_examples(some) for name, some in examples.items()}
        return {names[0]: _as_examples(examples)} if len(names) == 1 else {}

    def _rehearsal(self) -> Rehearsal:
        """Return the outcomes of all calls, made once for all tests of a class."""
        if type(self)._rehearsed is None:
            settings = PluginSettings(self.config, self.secrets)
            type(self)._rehearsed = rehearse(self._plugin(), settings, self._examples, self.prepare)
        rehearsal = type(self)._rehearsed
        assert rehearsal is not None  # noqa: S101 - it was just made
        return rehearsal

    def _loaded(self) -> Rehearsal:
        rehearsal = self._rehearsal()
        if rehearsal.problem is not None or not rehearsal.tools:
            skip("it does not load: see test_it_loads")
        return rehearsal

    def _valid(self) -> Rehearsal:
        rehearsal = self._loaded()
        if any(list(checks.check_schema(tool)) for tool in rehearsal.tools.values()):
            skip("its schema cannot be used: see test_its_input_schemas_compile")
        return rehearsal

    def _named(self) -> None:
        tools = self._loaded().tools
        if any(list(checks.check_name(tool, is_single=len(tools) == 1)) for tool in tools.values()):
            skip("it has no name that can be called: see test_its_names_can_be_called")

    def _scenes(self, *, answered: bool = False, shaped: bool = False) -> list[Scene]:
        """Return the scenes, or only those that answered (in the form of a result); other tests report the rest."""
        scenes = self._valid().scenes
        if not scenes:
            skip("there is no call to check: see test_its_examples_fit")
        chosen = [scene for scene in scenes if not shaped or scene.first.in_shape]
        chosen = [scene for scene in chosen if not (answered or shaped) or scene.first.answered]
        if not chosen:
            skip("no call answered: see test_a_call_does_not_raise, ..._answers_in_time and test_an_answer_is_a_result")
        return chosen

    def _plugin_settings_and_prepare(self) -> tuple[Any, PluginSettings, Any]:
        return self._plugin(), PluginSettings(self.config, self.secrets), self.prepare


def _as_examples(examples: Sequence[Any]) -> tuple[Example, ...]:
    return tuple(example if isinstance(example, Example) else Example(example) for example in examples)
