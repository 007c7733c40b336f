"""Documents of other formats and versions, which installed distributions translate into the present format."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from strands_cli.default_parts import FORMATS
from strands_cli.errors import Code, Finding, NotEquipped, StrandsCliError, suggest
from strands_cli.parts.named_parts import PART_BROKEN, NamedIn, Part, broken_part, imported_part, names_in, part_named
from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.unicode_safety import printable
from strands_cli.yaml_files.document import Document

UNKNOWN_FORMAT = Code(
    "unknown-format",
    "A file names a format that no installed distribution translates.",
    "Install the distribution that has it, or correct the name.",
    18,
)
FORMAT_FINDING = Code(
    "format-finding",
    "The translation of a file of another format found something.",
    "Do what the finding says.",
)


@dataclass(frozen=True, slots=True)
class FormatProblem:
    """What a translation finds in a document; an error keeps the workflow from running.

    Attributes:
        pointer: The place in the document that was given, as a JSON pointer; empty for the whole.
    """

    message: str
    fix: str | None = None
    pointer: str = ""
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class Translation:
    """A document of the present format, and what was found in the one that was translated.

    Attributes:
        value: The document, as data.
        places: For a pointer of the new document, the pointer in the old one that it comes from.
    """

    value: Mapping[str, Any]
    problems: Sequence[FormatProblem] = ()
    places: Mapping[str, str] = field(default_factory=dict)


def translated(document: Document) -> tuple[Document, tuple[Finding, ...]]:
    """Return a document in the present format, and what its translation found; most are in it already.

    A file names its format (`format: NAME`), or has a version for which a distribution has a format `version-V`.

    Raises:
        Denied: The translation is of a distribution that may not be imported.
        NotEquipped: No distribution has the format, or its translation is broken.
    """
    part, where = _part_of(document)
    if part is None:
        return document, ()
    try:
        made = _translation(part, document)
    except StrandsCliError as error:
        found = error.findings or (Finding(PART_BROKEN, error.message, None, error.fix),)
        error.findings = tuple(replace(one, where=document.where(where)) for one in found)
        raise
    findings = tuple(_finding(part, problem, document) for problem in made.problems)
    moved = {new: document.positions[old] for new, old in made.places.items() if old in document.positions}
    positions = {**document.positions, **moved}
    return replace(document, value=dict(made.value), positions=positions, written={}), findings


def _part_of(document: Document) -> tuple[Part | None, str]:
    """Return the translation that a document needs, and the pointer at which it says so."""
    value = json_object(document.value)
    name = value.get("format")
    if isinstance(name, str):
        part = part_named(FORMATS, name)
        if part is None:
            known = names_in(FORMATS)
            message = f"no installed distribution reads the format {printable(name)!r}"
            fix = suggest(name, known, f"there are: {', '.join(known)}" if known else None)
            finding = Finding(UNKNOWN_FORMAT, message, document.where("/format"), fix)
            raise NotEquipped(message, findings=[finding], fix=fix)
        return part, "/format"
    version = value.get("version")
    if version in (None, 1):
        return None, ""
    return part_named(FORMATS, f"version-{version}"), "/version"


def _translation(part: Part, document: Document) -> Translation:
    translate = imported_part(part, lock=NamedIn(Path(document.file).parent))
    try:
        made = translate(copy.deepcopy(document.value))
    except StrandsCliError:
        raise
    except Exception as error:  # a plugin may raise anything
        raise broken_part(part, f"failed: {type(error).__name__}: {error}") from error
    if isinstance(made, Translation) and isinstance(made.value, Mapping) and "format" not in made.value:
        return made
    raise broken_part(part, f"returns {type(made).__name__}, not a translation into the present format")


def _finding(part: Part, problem: FormatProblem, document: Document) -> Finding:
    severity: Literal["error", "warning"] = "warning" if problem.severity == "warning" else "error"
    text = printable(f"{part.distribution}: {problem.message}")
    fix = None if problem.fix is None else printable(problem.fix)
    return Finding(FORMAT_FINDING, text, document.where(problem.pointer), fix, severity)
