"""A conversation as a workflow: one agent, and a step for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from strands_cli.api import InvalidInput, RunRecordError, Runs, UsageError, named_model, read_document, shortened

if TYPE_CHECKING:
    from strands_cli.api import OpenedRun, StorePlace

NAME = "ask"
AGENT = "assistant"
PATTERN = "chain"
PROMPT = "You are a helpful assistant."
_RAW, _END = "{% raw %}", "{% endraw %}"
# The most characters of a question that describe the workflow.
_ABOUT = 80


@dataclass(frozen=True, slots=True)
class Question:
    """One question, the text that came with it on standard input, and the files that go with it."""

    words: str
    text: str = ""
    files: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """The question, then the text after an empty line."""
        return "\n\n".join(part for part in (self.words, self.text) if part)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The questions of a conversation, and the agent that answers them.

    Attributes:
        questions: In their order; the last one is to be answered.
        tools: References to the tools of the agent, such as `native:calculator`.
        model: PROVIDER/MODEL; None for the user's default.
        system: The system prompt.
        schema: The JSON Schema that an answer must satisfy.
    """

    questions: tuple[Question, ...] = ()
    tools: tuple[str, ...] = ()
    model: str | None = None
    system: str | None = None
    schema: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """Return the workflow; each question is the value of an input, so that nothing in it is a template."""
        names = [f"question_{number}" for number in range(1, len(self.questions) + 1)]
        prompt = "{{ system }}" if self.system else PROMPT
        agent: dict[str, Any] = {"prompt": prompt, "memory": "run", "tools": list(self.tools)}
        if self.schema is not None:
            agent["output_schema"] = dict(self.schema)
        values = {name: {"default": question.whole} for name, question in zip(names, self.questions, strict=True)}
        if self.system:
            values["system"] = {"default": self.system}
        steps = [
            {
                "agent": AGENT,
                "input": f"{{{{ {name} }}}}",
                **({"attachments": [_plain(file) for file in question.files]} if question.files else {}),
            }
            for name, question in zip(names, self.questions, strict=True)
        ]
        about = " ".join(self.questions[-1].whole.split())
        return {
            "version": 2,
            "name": NAME,
            "description": shortened(about, _ABOUT),
            **self._runtime(),
            "inputs": {"optional": {name: {"type": "string", **value} for name, value in values.items()}},
            **({"tools": {"python": list(self.tools)}} if self.tools else {}),
            "agents": {AGENT: agent},
            "pattern": {"type": PATTERN, "config": {"steps": steps}},
        }

    def _runtime(self) -> dict[str, Any]:
        if self.model is None:
            return {}
        named = named_model(self.model)
        model = {"model_id": named.model_id} if named.model_id else {}
        return {"runtime": {"provider": named.provider, **model}}

    def workflow_text(self) -> str:
        """Return the workflow as the text of a YAML file."""
        return yaml.dump(self.document(), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)

    @property
    def last_key(self) -> str:
        """The key of the step that answers the last question."""
        return f"steps.{len(self.questions) - 1}"


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _plain(path: str) -> str:
    """Return a path as a template that gives just this path."""
    return f"{_RAW}{path}{_END}" if "{{" in path or "{%" in path else path


def _path(written: str) -> str:
    return written.removeprefix(_RAW).removesuffix(_END)


def attached(file: str) -> str:
    """Return the whole path of a file to attach.

    Raises:
        UsageError: It is not a file.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        fix = "download it first" if "://" in file else "check the path"
        raise UsageError(f"there is no file {file}", fix=fix)
    return str(path.absolute())


def tool_reference(name: str) -> str:
    """Return the reference to a tool; a bare name is that of an installed one."""
    return name if ":" in name else f"native:{name}"


def read_schema(path: Path) -> Mapping[str, Any]:
    """Return the JSON Schema in a JSON or YAML file.

    Raises:
        InvalidInput: It cannot be read, or is not a mapping.
    """
    document = read_document(path)
    if document.findings:
        raise InvalidInput(f"{path} is not a schema", findings=document.findings, fix="correct it")
    if not isinstance(document.value, Mapping):
        raise InvalidInput(f"{path} is not a JSON Schema: it has no keys", fix="such as: {type: object}")
    return document.value


def last_conversation(place: StorePlace) -> tuple[str, Conversation]:
    """Return the run of the last question in a store, and its conversation up to the last question that is answered.

    Raises:
        UsageError: No question was asked before, or none was answered.
    """
    with Runs(place) as runs:
        asked = next((run for run in runs.all()[0] if run.workflow == NAME), None)
        if asked is None:
            raise UsageError("there is no question to go on from", fix='ask one first: strands ask "..."')
        return asked.id, conversation_of(runs, asked.id)


def conversation_of(runs: Runs, run_id: str) -> Conversation:
    """Return the conversation of a run, up to the last question that is answered.

    Raises:
        UsageError: The run is not that of a question, it waits, or no question is answered.
    """
    with runs.open(run_id) as run:
        if run.journal.get("status") == "waiting":
            raise UsageError(f"run {run_id} waits for a person", fix=f"strands approve {run_id}")
        conversation = _read(run)
        done = {row.key for row in run.journal.rows() if row.status == "done"}
    answered = 0
    while answered < len(conversation.questions) and f"steps.{answered}" in done:
        answered += 1
    if not answered:
        raise UsageError(f"run {run_id} has answered nothing", fix=f"strands resume {run_id}, or ask again without -c")
    return replace(conversation, questions=conversation.questions[:answered])


def _read(run: OpenedRun) -> Conversation:
    """Return the conversation that the stored workflow of a run is."""
    try:
        document: Any = yaml.safe_load(run.journal.get("text"))
        agent, inputs = document["agents"][AGENT], document["inputs"]["optional"]
        steps = enumerate(document["pattern"]["config"]["steps"], 1)
        questions = tuple(
            Question(inputs[f"question_{number}"]["default"], files=tuple(map(_path, step.get("attachments", ()))))
            for number, step in steps
        )
        runtime = document.get("runtime")
        model = "/".join(filter(None, (runtime["provider"], runtime.get("model_id")))) if runtime else None
        system = inputs["system"]["default"] if "system" in inputs else None
        return Conversation(questions, tuple(agent["tools"]), model, system, agent.get("output_schema"))
    except (KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise RunRecordError(f"run {run.id} is not that of a question: {error}", fix="ask without -c") from error


def with_file(conversation: Conversation, file: str) -> Conversation:
    """Return a conversation whose last question has one more file."""
    *before, last = conversation.questions
    return replace(conversation, questions=(*before, replace(last, files=(*last.files, file))))


def beside(conversation: Conversation, folder: Path) -> Conversation:
    """Return a conversation in which the paths of files in a folder begin there."""
    folder = folder.absolute()

    def short(file: str) -> str:
        return str(Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else file

    return replace(
        conversation,
        questions=tuple(replace(asked, files=tuple(map(short, asked.files))) for asked in conversation.questions),
    )


def joined(before: Conversation, question: Question, tools: Sequence[str], **changes: Any) -> Conversation:
    """Return a conversation that goes on with a question, with further tools, and with the changes that are set."""
    kept = {name: value for name, value in changes.items() if value is not None}
    every = tuple(dict.fromkeys((*before.tools, *tools)))
    return replace(before, questions=(*before.questions, question), tools=every, **kept)
