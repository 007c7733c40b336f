"""Documents of other formats and versions, which installed distributions translate into the present format."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, cast

from strands_cli.default_parts import FORMATS, OURS, install_of
from strands_cli.errors import Code, Finding, NotEquipped, StrandsCliError, suggest
from strands_cli.parts.named_parts import PART_BROKEN, NamedIn, Part, broken_part, imported_part, names_in, part_named
from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.unicode_safety import printable
from strands_cli.yaml_files.document import Document

# The version of the present format.
PRESENT = 2
# The name of the format that reads files of each version which no format has by its own name.
OTHER_VERSIONS = "versions"
_WHOLE = re.compile(r"\s*(\d{1,9})(\.0)?\s*")
# Files are read to a depth that is much smaller.
_DEEPEST = 200

UNKNOWN_FORMAT = Code(
    "unknown-format",
    "A file names a format or a version that no installed distribution translates.",
    "Install the distribution that has it, or correct the name or the version.",
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
        code: The code of the finding, if the distribution declares one.
    """

    message: str
    fix: str | None = None
    pointer: str = ""
    severity: Literal["error", "warning"] = "error"
    code: Code | None = None


@dataclass(frozen=True, slots=True)
class Translation:
    """A document of the present format, and what was found in the one that was translated.

    Attributes:
        value: The document, as data.
        places: For a pointer of the new document, the pointer in the old one that it and all below it come from.
    """

    value: Mapping[str, Any]
    problems: Sequence[FormatProblem] = ()
    places: Mapping[str, str] = field(default_factory=dict)


def translated(document: Document, stored: int | None = None) -> tuple[Document, tuple[Finding, ...]]:
    """Return a document in the present format, and what its translation found; most are in it already.

    A file names its format (`format: NAME`), or has another version than the present one: the format `version-V`
    translates the version V, and `versions` all that have no format of their own.

    Args:
        stored: The version that the present format had when a run stored the document; None for a document of now.

    Raises:
        Denied: The translation is of a distribution that may not be imported.
        NotEquipped: No distribution has the format or reads the version, or the translation is broken.
    """
    part, where = _part_of(document, stored)
    if part is None:
        return document, ()
    try:
        made = _translation(part, document)
    except StrandsCliError as error:
        found = error.findings or (Finding(PART_BROKEN, error.message, None, error.fix),)
        error.findings = tuple(replace(one, where=document.where(where)) for one in found)
        raise
    findings = tuple(_finding(part, problem, document) for problem in made.problems)
    moved = {new: old for new, old in made.places.items() if new != old}
    # One that is moved to where another one was has that one's place, and all below it.
    at_once = {new: document.positions[old] for new, old in moved.items() if old in document.positions and old in moved}
    positions = {place: at for place, at in document.positions.items() if place not in moved}
    aliases = {**document.aliases, **{new: old for new, old in moved.items() if new not in at_once}}
    value = dict(made.value)
    return replace(document, value=value, positions={**positions, **at_once}, aliases=aliases, written={}), findings


def _part_of(document: Document, stored: int | None) -> tuple[Part | None, str]:
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
    if isinstance(version, bool) or not isinstance(version, (int, float, str)):
        return None, ""
    if version_number(version) in (PRESENT, stored or PRESENT):
        return None, ""
    part = part_named(FORMATS, f"version-{version}") or part_named(FORMATS, OTHER_VERSIONS)
    if part is None:
        raise _unknown_version(version, document)
    return part, "/version"


def version_number(version: object) -> int | None:
    """Return a version as a whole number, also that of a text or with `.0`; None if it is none."""
    whole = _WHOLE.fullmatch(str(version))
    return None if whole is None else int(whole[1])


def _unknown_version(version: object, document: Document) -> NotEquipped:
    import shlex

    install = install_of(OURS[FORMATS][OTHER_VERSIONS])
    file = "FILE" if document.file.startswith("<") else shlex.quote(document.file)
    message = f"the file has version {printable(str(version))}, and the present format is version {PRESENT}"
    fix = f"if an earlier strands-cli ran it: {install}, then it is read, and `strands migrate {file}` writes it as"
    fix += f" version {PRESENT}; otherwise write `version: {PRESENT}`"
    return NotEquipped(message, findings=[Finding(UNKNOWN_FORMAT, message, document.where("/version"), fix)], fix=fix)


def _translation(part: Part, document: Document) -> Translation:
    translate = imported_part(part, lock=NamedIn(Path(document.file).parent))
    try:
        made = translate(copy.deepcopy(document.value))
    except StrandsCliError:
        raise
    except (Exception, SystemExit) as error:  # a plugin may raise anything, and call sys.exit
        raise broken_part(part, f"failed: {type(error).__name__}: {error}") from error
    if (fault := _fault_of(made)) is not None:
        raise broken_part(part, f"returns {fault}")
    return cast("Translation", made)


def _fault_of(made: object) -> str | None:
    """Return what keeps an object from being a translation; None if nothing does."""
    if not isinstance(made, Translation):
        return f"{type(made).__name__}, not a strands_cli.api.Translation"
    if not isinstance(made.value, Mapping) or "format" in made.value:
        return "a translation whose `value` is not a document of the present format"
    if (fault := _unlike_yaml(made.value, [])) is not None:
        return f"a translation whose `value` has {fault}, which no file has"
    if not _are(made.problems, FormatProblem):
        return "a translation whose `problems` are not a list of FormatProblem"
    if not isinstance(made.places, Mapping) or not (_are([*made.places], str) and _are([*made.places.values()], str)):
        return "a translation whose `places` are not pointers for pointers"
    return None


def _are(values: object, kind: type) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(one, kind) for one in values)


def _unlike_yaml(value: object, above: list[int]) -> str | None:
    """Return what in a value is not what reading a file gives: text keys, plain values, nothing inside itself."""
    if isinstance(value, (str, int, float, bool, date, type(None))):
        return None
    if not isinstance(value, (Mapping, list, tuple)):
        return f"a {type(value).__name__}"
    if id(value) in above or len(above) > _DEEPEST:
        return "itself in it"
    inner: list[object] = list(value)
    if isinstance(value, Mapping):
        if wrong := [key for key in inner if not isinstance(key, str)]:
            return f"the key {wrong[0]!r}"
        inner = list(value.values())
    return next((fault for one in inner if (fault := _unlike_yaml(one, [*above, id(value)]))), None)


def _finding(part: Part, problem: FormatProblem, document: Document) -> Finding:
    severity: Literal["error", "warning"] = "warning" if problem.severity == "warning" else "error"
    text = printable(f"{part.distribution}: {problem.message}")
    fix = None if problem.fix is None else printable(problem.fix)
    code = FORMAT_FINDING if problem.code is None else problem.code
    return Finding(code, text, document.where(problem.pointer), fix, severity)
