"""Values that an input declares as text, as the file has them, though YAML reads numbers, booleans and nulls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from strands_cli.errors import Code, Finding
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.sections import Inputs, InputSpec
from strands_cli.yaml_files.document import Document, escape

NUMBER_RESPELLED = Code(
    "number-respelled",
    "A number is not printed as it is written (`1.10` is 1.1), where no type says whether it is text.",
    'Put it in quotes if it is text, such as a version: `"1.10"`; otherwise write the number as it is printed.',
)
# Where a number reaches a text without a declared type.
_FREE = re.compile(r"/inputs/values/[^/]+|/inputs/(?:required|optional)/[^/]+/default|/pattern/.*/vars/[^/]+")


def with_texts_as_written(spec: WorkflowSpec, document: Document) -> WorkflowSpec:
    """Return a workflow whose inputs of type string have defaults and choices as they are written."""
    inputs = spec.inputs
    update: dict[str, Any] = {
        section: {name: _as_written(one, f"/inputs/{section}/{escape(name)}", document) for name, one in part.items()}
        for section, part in (("required", inputs.required), ("optional", inputs.optional))
    }
    texts = {name for name, one in inputs.declared().items() if one.type == "string"}
    found = {name: document.text_at(f"/inputs/values/{escape(name)}") for name in inputs.values if name in texts}
    update["values"] = {**inputs.values, **{name: text for name, text in found.items() if text is not None}}
    return spec.model_copy(update={"inputs": inputs.model_copy(update=update)})


def _as_written(declared: InputSpec, pointer: str, document: Document) -> InputSpec:
    if declared.type != "string":
        return declared
    update: dict[str, Any] = {}
    if declared.default is not None and (text := document.text_at(f"{pointer}/default")) is not None:
        update["default"] = text
    if declared.enum is not None:
        texts = [document.text_at(f"{pointer}/enum/{index}") for index in range(len(declared.enum))]
        update["enum"] = tuple(text or value for text, value in zip(texts, declared.enum, strict=True))
    return declared.model_copy(update=update) if update else declared


def check_written_numbers(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report numbers that are printed otherwise than they are written, where no type says that they are text."""
    document = loaded.document
    for pointer, text in document.written.items():
        if _FREE.fullmatch(pointer) is None or not any(char.isdigit() for char in text):
            continue
        value: Any = document.value
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            value = value[int(key)] if isinstance(value, list) else value.get(key)
        if _has_type(spec.inputs, pointer, document) or not isinstance(value, (int, float)):
            continue
        message = f"{text} is read as the number {value}, and printed so"
        fix = f'if it is text, write "{text}"'
        yield Finding(NUMBER_RESPELLED, message, document.where(pointer), fix, severity="warning")


def _has_type(inputs: Inputs, pointer: str, document: Document) -> bool:
    """Return whether the declaration of an input says what the value is."""
    if pointer.endswith("/default"):
        return f"{pointer.removesuffix('default')}type" in document.positions
    name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return pointer.startswith("/inputs/") and name in inputs.declared()
