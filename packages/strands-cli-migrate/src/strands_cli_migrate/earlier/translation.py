"""The translation of a document of the earlier format: its meaning, written in fields of the present format.

Nothing is read but the document. Each part below is one difference; `docs/how-to/migrate.md` has all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from strands_cli.api import Code, FormatProblem, Translation
from strands_cli_migrate.earlier.filters import filter_edits, is_unclear, names_filters
from strands_cli_migrate.earlier.inputs import (
    described_inputs,
    let_defaults_count,
    names_of_inputs,
    tell_the_orchestrator,
    write_texts,
)
from strands_cli_migrate.earlier.names import draft_edits, name_edits, names_at_end
from strands_cli_migrate.earlier.prompts import as_text, explains_templates
from strands_cli_migrate.earlier.steps import CONFIG
from strands_cli_migrate.earlier.tokens import Edit, Template
from strands_cli_migrate.earlier.values import items, mapping, section, texts_in, token
from strands_cli_migrate.earlier.versions import PRESENT, version_problem

PROMPT_AS_TEXT = Code(
    "prompt-as-text",
    "A prompt of the earlier format has many names that nothing defines, and is sent as written.",
    "Put examples of templates between `{% raw %}` and `{% endraw %}`.",
)
NOT_TRANSLATED = Code(
    "not-translated",
    "A part of a file of the earlier format may mean something else in the present one.",
    "Write what it shall mean.",
)
_RAW = "put what is meant as text between `{% raw %}` and `{% endraw %}`"
_BUDGETS = ("max_steps", "max_tokens", "max_model_calls", "max_tool_calls", "max_cost_usd", "max_duration_s")
_SKILL = "Skill"
# The answers of branches, sorted by their names, and those of workers.
_BRANCHES = (
    "{% for name, branch in branches | dictsort(true) if branch.status == 'completed' %}"
    "{% if not loop.first %}\n---\n\n{% endif %}Branch {{ name }}:\n{{ branch.response }}{% endfor %}"
)
_WORKERS = (
    "{% for worker in workers %}{% if not loop.first %}\n{% endif %}"
    "Worker {{ worker.index }}: {{ worker.response }}{% endfor %}"
)
# Keys of steps and patterns whose texts are templates.
_TEMPLATES = frozenset({"input", "vars", "prompt", "context_display", "revise_prompt", "producer_input"})
# Names whose values have a status, and fields of these that do not show it.
_RESULTS = frozenset({"steps", "tasks", "nodes", "branches", "workers", "execution_context"})
_STATUSLESS = frozenset({"response", "output", "agent", "index", "iteration", "approved", "task", "tokens_estimated"})


def earlier(document: dict[str, Any]) -> Translation:
    """Return a document of the earlier format as one of the present format that means the same."""
    return _Translator(document).translation()


class _Translator:
    """Changes one document into its meaning.

    Attributes:
        value: The document, changed in place.
        problems: Parts without a form in the present format, or for a person to look at.
        places: For a pointer of the new document, the one in the old that it comes from.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.value = document
        self.problems: list[FormatProblem] = []
        self.places: dict[str, str] = {}
        self.agents = mapping(document.get("agents"))
        self.pattern = mapping(document.get("pattern"))
        self.config = mapping(self.pattern.get("config"))

    def translation(self) -> Translation:
        """Return the document with all differences written out."""
        if (problem := version_problem(self.value)) is not None:
            self.problems.append(problem)
        self.value["version"] = PRESENT
        self._tools()
        self._prompts()
        if (pointer := tell_the_orchestrator(self.value, self.places)) is not None:
            message = "the inputs are not added to the orchestrator's message: its prompt is in another file"
            self._report(message, pointer, "name the inputs in its `input`")
        self._templates()
        self._inputs()
        self._agents()
        self._pattern()
        self._files()
        self._rendering()
        return Translation(self.value, self.problems, self.places)

    def _report(self, message: str, pointer: str, fix: str, code: Code = NOT_TRANSLATED) -> None:
        self.problems.append(FormatProblem(message, fix, pointer, "warning", code))

    def _set(self, name: str, **fields: Any) -> None:
        """Set fields of a section that it does not have."""
        part = section(self.value, *name.split("."))
        for field, value in fields.items() if part is not None else ():
            part.setdefault(field, value)  # type: ignore[union-attr]  # the loop is empty without a part

    def _agents(self) -> None:
        """Agents remembered their steps, knew of the workflow, and had schemas of the run's inputs."""
        if not self.agents:
            return
        is_stateful = mapping(mapping(self.value.get("runtime")).get("options")).get("stateful")
        for agent in map(mapping, self.agents.values()):
            if agent.get("memory") == "run" and not is_stateful:
                agent["memory"] = "path"
            if "$ref" in agent or _may_describe_an_object(agent.get("input_schema")):
                agent.setdefault("input_schema_for", "run")
        if not is_stateful:
            self._set("context_policy", memory="path")
        self._set("context_policy", prompt_end=self._about())
        if items(self.value.get("skills")):
            self._set("context_policy", skills_in_prompts=True)
        retrieval = mapping(mapping(self.value.get("context_policy")).get("retrieval"))
        if retrieval.get("jit_tools"):
            retrieval.setdefault("replaces_tools", True)

    def _about(self) -> str:
        """Return the end of each system prompt."""
        budgets = mapping(mapping(self.value.get("runtime")).get("budgets"))
        limits = [(name, budgets.get(name)) for name in (*_BUDGETS, "warn_threshold")]
        tags = [str(tag) for tag in items(self.value.get("tags"))]
        parts = {
            "Workflow": _escaped(str(self.value.get("name") or "")),
            "Description": _escaped(str(self.value.get("description") or "")),
            "Tags": _escaped(", ".join(tags)),
            "Agent ID": "{{ agent }}",
            "Budgets": ", ".join(
                f"{name}={limit:g}" for name, limit in limits if isinstance(limit, (int, float)) and limit
            ),
        }
        return "\n".join(["# Runtime Context", *(f"- {name}: {text}" for name, text in parts.items() if text)])

    def _inputs(self) -> None:
        """Texts stayed texts, absent inputs were not defined, and undeclared ones were accepted."""
        write_texts(self.value)
        let_defaults_count(self.value, self.places)
        self._set("inputs", allow_undeclared=True)
        if names_of_inputs(self.value) or described_inputs(self.value):
            self._set("inputs", keep_texts=True, absent="undefined")

    def _tools(self) -> None:
        """Tools took variables, servers ran in the working directory, and an empty list of a step was none."""
        lists = [(mapping(self.value.get("tools")).get("python"), "/tools/python")]
        lists += [
            (mapping(agent_value).get("tools"), f"/agents/{token(name)}/tools")
            for name, agent_value in self.agents.items()
        ]
        template = mapping(self.config.get("worker_template"))
        lists.append((template.get("tools"), f"{CONFIG}/worker_template/tools"))
        for part, pointer in _mappings_in(self.config, CONFIG):
            if part.get("tool_overrides") == []:
                del part["tool_overrides"]
            lists.append((part.get("tool_overrides"), f"{pointer}/tool_overrides"))
        for entries, pointer in lists:
            for number, entry in enumerate(items(entries)):
                self._tool(entry, f"{pointer}/{number}")
        if self._has_tools([entries for entries, _ in lists]):
            self._set("env", take_variables=True)
        if any("command" in mapping(server) for server in items(mapping(self.value.get("tools")).get("mcp"))):
            self._set("tools", mcp_folder="working")
        agent = self.agents.get(str(template.get("agent")))
        if items(self.value.get("skills")) and isinstance(template.get("tools"), list) and isinstance(agent, dict):
            has_it = any(
                listed_tool == _SKILL or mapping(listed_tool).get("tool") == _SKILL for listed_tool in template["tools"]
            )
            if not has_it and "skills" not in agent:
                template["tools"].append(_SKILL)

    def _tool(self, entry: Any, pointer: str) -> None:
        """Write `tool` for `callable`."""
        if isinstance(entry, dict) and "callable" in entry and "tool" not in entry:
            renamed = {("tool" if key == "callable" else key): value for key, value in entry.items()}
            entry.clear()
            entry |= renamed
            self.places[f"{pointer}/tool"] = f"{pointer}/callable"

    def _has_tools(self, lists: list[Any]) -> bool:
        jit = mapping(mapping(self.value.get("context_policy")).get("retrieval")).get("jit_tools")
        called = any("tool" in part for part, _ in _mappings_in(self.config, CONFIG))
        in_files = any("$ref" in mapping(agent) for agent in self.agents.values())
        return bool(called or in_files or jit or mapping(self.value.get("tools")).get("composite") or any(lists))

    def _pattern(self) -> None:
        """Answers that no step joins had the names of branches, or the numbers of workers; all nodes were there."""
        kind, config = self.pattern.get("type"), self.pattern.get("config")
        if not isinstance(config, dict):
            return
        if kind == "parallel" and not _is_joined(config):
            config.setdefault("last_response", _BRANCHES)
        elif kind == "orchestrator_workers" and not _is_joined(config):
            config.setdefault("last_response", _WORKERS)
        elif kind == "graph":
            config.setdefault("all_nodes", True)

    def _files(self) -> None:
        """The paths of artifacts had few characters."""
        paths = [
            mapping(artifact).get("path") for artifact in items(mapping(self.value.get("outputs")).get("artifacts"))
        ]
        if any(isinstance(path, str) and not _is_plain(path) for path in paths):
            self._set("outputs", plain_paths=True)

    def _rendering(self) -> None:
        """A finished step had the status `success`, and no text had control characters."""
        self._set("rendering", control_characters="remove")
        in_files = any("$ref" in mapping(agent) for agent in self.agents.values())
        if in_files or any(_shows_status(Template(text, is_condition=cond)) for *_, text, cond in self._texts()):
            self._set("rendering", completed="success")

    def _prompts(self) -> None:
        """Prompts that explain templates were sent as they are."""
        inputs = {*names_of_inputs(self.value), *described_inputs(self.value)}
        for name, agent in self.agents.items():
            prompt = mapping(agent).get("prompt")
            if isinstance(prompt, str) and "{{" in prompt and explains_templates(name, prompt, self.pattern, inputs):
                agent["prompt"] = as_text(prompt)
                message = "nothing defines many of the names in this prompt, so it is sent as it is written"
                self._report(message, f"/agents/{token(name)}/prompt", _RAW, PROMPT_AS_TEXT)

    def _templates(self) -> None:
        """Filters and names at the end meant something else."""
        names = names_at_end(self.pattern, frozenset(names_of_inputs(self.value)))
        has_drafts = self.pattern.get("type") == "evaluator_optimizer"
        producer = f"/agents/{token(str(self.config.get('producer')))}/prompt" if has_drafts else ""
        of_drafts = {f"{CONFIG}/revise_prompt", f"{CONFIG}/producer_input", producer}
        for holder, key, pointer, text, is_condition in [*self._texts()]:

            def edit(make: Callable[[Template], Iterator[Edit]], text: str, is_condition: bool = is_condition) -> str:
                template = Template(text, is_condition=is_condition)
                return template.edited(make(template))

            if "truncate" in text or "regex_search" in text:
                self._look_at(Template(text, is_condition=is_condition), pointer)
                text = edit(filter_edits, text)
            if pointer.startswith("/outputs/"):
                text = edit(lambda parsed: name_edits(parsed, names, has_drafts=has_drafts), text)
            if has_drafts and pointer in of_drafts and "iteration" in text:
                text = edit(draft_edits, text)
            holder[key] = edit(lambda _one: iter(()), text) if "$TRACE" in text else text

    def _look_at(self, template: Template, pointer: str) -> None:
        """Report uses of filters that cannot be written otherwise."""
        if is_unclear(template):
            message = "`regex_search` gave an empty text for a pattern without a group, and now gives the match"
            self._report(message, pointer, "put a part of the pattern into brackets")
        if names_filters(template):
            message = "`truncate` or `regex_search` is named for another filter to call, and means something else now"
            self._report(message, pointer, "write a loop")

    def _texts(self) -> Iterator[tuple[Any, Any, str, str, bool]]:
        """Yield each template: its holder, its key there, its pointer, its text, and whether it is a condition."""
        for name, agent in self.agents.items():
            prompt = mapping(agent).get("prompt")
            if isinstance(prompt, str) and "{{" in prompt:
                yield agent, "prompt", f"/agents/{token(name)}/prompt", prompt, False
        yield from _texts_of_steps(self.config, CONFIG)
        for number, artifact in enumerate(items(mapping(self.value.get("outputs")).get("artifacts"))):
            for key in ("path", "from"):
                if isinstance(text := mapping(artifact).get(key), str):
                    yield artifact, key, f"/outputs/artifacts/{number}/{key}", text, False
        for number, tool in enumerate(items(mapping(self.value.get("tools")).get("composite"))):
            tool_pointer, steps = f"/tools/composite/{number}", items(mapping(tool).get("steps"))
            for index, step in enumerate(steps):
                for holder, key, pointer in texts_in(mapping(step).get("input"), f"{tool_pointer}/steps/{index}/input"):
                    yield holder, key, pointer, holder[key], False
            if isinstance(text := mapping(tool).get("output"), str):
                yield tool, "output", f"{tool_pointer}/output", text, False


def _texts_of_steps(part: Any, pointer: str) -> Iterator[tuple[Any, Any, str, str, bool]]:
    for holder, holder_pointer in _mappings_in(part, pointer):
        for key, value in holder.items():
            at = f"{holder_pointer}/{token(key)}"
            if key == "when" and isinstance(value, str):
                yield holder, key, at, value, True
            elif key in _TEMPLATES and isinstance(value, str):
                yield holder, key, at, value, False
            elif key in _TEMPLATES:
                for inner, name, inside in texts_in(value, at):
                    yield inner, name, inside, inner[name], False


def _mappings_in(part: Any, pointer: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the mappings of a config, each with its pointer; inputs and variables of steps are values of their own."""
    if isinstance(part, dict):
        yield part, pointer
        for key, value in part.items():
            if key not in _TEMPLATES:
                yield from _mappings_in(value, f"{pointer}/{token(key)}")
    for number, value in enumerate(items(part)):
        yield from _mappings_in(value, f"{pointer}/{number}")


def _may_describe_an_object(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("type") == "object" or "properties" in schema
    return isinstance(schema, str)


def _escaped(text: str) -> str:
    """Return the template of this text."""
    return as_text(text) if any(mark in text for mark in ("{{", "{%", "{#")) else text


def _is_joined(config: dict[str, Any]) -> bool:
    """Return whether a step joins the answers, and nothing reads them as one text before."""
    reduce = config.get("reduce")
    if not isinstance(reduce, dict) or not reduce.get("input"):
        return False
    read = [text for _, _, _, text, _ in _texts_of_steps(config, "")]
    return not any("last_response" in text for text in read)


def _is_plain(path: str) -> bool:
    """Return whether the path of an artifact has no template and stays as it is where paths are plain."""
    parts = path.split("/")
    if ".." in parts or not parts[0] or not parts[-1]:
        return True
    plain = re.sub("__+", "_", re.sub(r"[^\w./-]+", "_", path)).strip("._/")
    return plain == path and "." not in parts


def _shows_status(template: Template) -> bool:
    """Return whether a template reads a status, or a whole result with one."""
    for name in template.free_names():
        path, _ = template.path(name)
        if path[0] in _RESULTS and not _STATUSLESS & {*path[1:]}:
            return True
    return any(token.text == "status" for token in template.tokens)
