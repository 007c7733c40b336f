"""Turns YAML events into plain values with positions; scalars are those of YAML 1.2, aliases are limited."""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from typing import Any

import yaml

from strands_cli.errors import Code, Edit, Finding, InvalidInput, Where, clear_edit, suggest
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.phrases import shortened
from strands_cli.yaml_files.document import DOCUMENT_TOO_LARGE, Document, Position, escape, refused

# The YAML between two lines `---` at the beginning of a text, as a SKILL.md has it.


MAX_DESCRIPTION = 1024


def described_in(text: str, file: str) -> str | None:
    """Return the `description` of the front matter in one line of at most `MAX_DESCRIPTION` characters, or None.

    Args:
        file: The name of the text in errors.

    Raises:
        InvalidInput: The front matter is not YAML.
    """
    front = front_matter_of(text)
    if front is None:
        return None

    value = parse(file, front).value
    description = value.get("description") if isinstance(value, dict) else None
    return " ".join(description.split())[:MAX_DESCRIPTION] or None if isinstance(description, str) else None


def front_matter_of(text: str) -> str | None:
    """Return the YAML between the two `---` at the beginning of a text, or None."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return None
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    return None if end is None else "".join(f"{line}\n" for line in lines[1:end])


def without_front_matter(text: str) -> str:
    """Return a text without the YAML between the two `---` at its beginning."""
    front = front_matter_of(text)
    return text if front is None else "\n".join(text.splitlines()[len(front.splitlines()) + 2 :])


# JSON in the spelling that readers of YAML 1.1 accept.


_SURROGATE_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
# Comments, and commas before a bracket, which editors allow in JSON. An unended one goes on to the end of the text, so
# that a search takes linear time.
_TEXT = r'(?P<text>"(?:[^"\\]|\\.)*(?:"|\\?\Z))'
_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_LAST_COMMA = re.compile(_TEXT + r"|,(?=\s*[}\]])", re.DOTALL)
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def json_as_yaml(text: str) -> str:
    """Return JSON in the spelling that YAML readers accept; other text is returned unchanged.

    JSON allows tabs between tokens, writes characters beyond U+FFFF as two escapes, and takes line separators and
    C1 controls literally; YAML 1.1 readers do none of these.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        plain = _LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
        try:
            json.loads(plain)
        except (ValueError, RecursionError):
            return text
        text = plain
    text = _SURROGATE_PAIR.sub(lambda match: match[1] + json.loads(f'"{match[2]}"'), text.replace("\t", " "))
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _blank(match: re.Match[str]) -> str:
    """Return blanks for a comment or a comma before a bracket, so that all places stay; a text as it is."""
    return match[0] if match["text"] else re.sub(r"[^\n]", " ", match[0])


BAD_CHARACTER = Code("bad-character", "A character that YAML does not allow.", "Remove the character.")
DOCUMENT_EMPTY = Code("document-empty", "The document is empty.", "Write its content.")
SEVERAL_DOCUMENTS = Code(
    "several-documents", "One file holds several YAML documents.", "Put each into a file of its own."
)
DOCUMENT_TOO_DEEP = Code("document-too-deep", "Nested deeper than 100 levels.", "Flatten the structure.")
DUPLICATE_KEY = Code("duplicate-key", "A key occurs twice in one mapping.", "Keep one of the two.")
KEY_NOT_TEXT = Code("key-not-text", "The key of a mapping is a list or a mapping.", "Use a plain word as key.")
KEY_TOO_LONG = Code("key-too-long", "A key of more than 1,000 characters.", "Shorten it.")
UNQUOTED_TEMPLATE = Code(
    "unquoted-template",
    "A text that begins with `{{` has no quotes, so YAML reads a mapping.",
    'Write quotes: `input: "{{ topic }}"`.',
)
NUMBER_NOT_USABLE = Code("number-not-usable", "A number that JSON cannot hold.", "Put it in quotes, or change it.")
YAML_TAG = Code("yaml-tag", "A YAML tag that asks for a type beyond JSON.", "Remove the tag.")
BAD_MERGE = Code("bad-merge", "A merge key `<<` names something other than mappings.", "Merge the anchor of a mapping.")
UNKNOWN_ALIAS = Code("unknown-alias", "A YAML alias without an anchor.", "Define the anchor before it is used.")
ALIAS_LOOP = Code("alias-loop", "A YAML alias inside the node it names.", "Write the value out.")
ALIAS_BOMB = Code("alias-bomb", "Aliases that expand the document beyond its limit.", "Use fewer aliases of aliases.")


MAX_DEPTH = 100
MAX_VALUES = 200_000
MAX_ADDED_BY_ALIASES = 100_000
MAX_CORRECTED = 20
MAX_KEY = 1000
# So often is one kind of fault reported.
MAX_ALIKE = 100
# The limit of this interpreter for text: sys.get_int_max_str_digits() is 4300.
_MOST_DIGITS, _MOST_BITS = 4300, 14_000

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = (_TAG + "str", _TAG + "timestamp")
_VALUE_TAGS = (None, _TAG + "null", _TAG + "bool", _TAG + "int", _TAG + "float")
_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# YAML 1.2 core schema, section 10.3.2: `yes`, `on`, `1:30` and dates are text there, and `010` is ten.
_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_OF_NUMBERS = frozenset("0123456789+-.")
_NOT_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_TEMPLATE = re.compile(r"(\{\{.*?\}\}(?:\{\{.*?\}\}|[^,\[\]{}])*)")
# The complement of c-printable in YAML 1.2.
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class _FinishedNode:
    """A finished node: its value, its pointer, the number of nodes in it with aliases resolved, and its depth."""

    value: Any
    pointer: str
    size: int = 1
    depth: int = 1


@dataclass(slots=True)
class _OpenNode:
    """A mapping or sequence during its reading."""

    value: dict[str, Any] | list[Any]
    pointer: str
    anchor: str | None
    size: int = 1
    depth: int = 1
    key: str | None = None
    key_position: Position = (1, 1)
    merging: bool = False
    merges: list[_FinishedNode] = field(default_factory=list)


class _Builder:
    """Builds one document from its events without recursion, so that great depth is a finding."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.stack: list[_OpenNode] = []
        self.root: _FinishedNode | None = None
        self.anchors: dict[str, _FinishedNode] = {}
        self.positions: dict[str, Position] = {}
        self.keys: dict[str, Position] = {}
        self.aliases: dict[str, str] = {}
        self.written: dict[str, str] = {}
        self.added = 0
        self.findings: list[Finding] = []
        self.alike: dict[Code, int] = {}

    def feed(self, event: Any) -> None:
        """Take the next event of the document's content."""
        position = _start_of(event)
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event, position)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close()
        elif kind is yaml.AliasEvent:
            self._alias(event.anchor, position)
        else:
            self._open(event, position)

    def _where(self, position: Position, pointer: str = "") -> Where:
        return Where(self.file, *position, pointer)

    def _report(self, code: Code, message: str, position: Position, pointer: str, fix: str, *edits: Edit) -> None:
        self.alike[code] = count = self.alike.get(code, 0) + 1
        if count > MAX_ALIKE:
            return
        self.findings.append(Finding(code, message, self._where(position, pointer), fix, edits=edits))

    def _pointer(self, position: Position) -> str:
        """Return the pointer of the next value, and store its position."""
        pointer = ""
        if self.stack:
            parent = self.stack[-1]
            if parent.key is None:
                pointer = f"{parent.pointer}/{len(parent.value)}"
            else:
                pointer = f"{parent.pointer}/{escape(parent.key)}"
                self.keys[pointer] = parent.key_position
        self.positions[pointer] = position
        if len(self.positions) > MAX_VALUES:
            message = f"the document has more than {MAX_VALUES:,} values; this one is beyond"
            raise refused(DOCUMENT_TOO_LARGE, message, self._where(position), "split the workflow")
        return pointer

    def _awaits_key(self) -> bool:
        return bool(self.stack) and self.stack[-1].key is None and isinstance(self.stack[-1].value, dict)

    def more(self) -> list[Finding]:
        """Return a finding for each kind of fault that was reported so often that the rest is only counted."""
        where, fix = Where(self.file), "correct the first ones"
        rest = {code: count - MAX_ALIKE for code, count in self.alike.items() if count > MAX_ALIKE}
        return [
            Finding(code, f"and {count:,} more of this kind", where, fix, count=count) for code, count in rest.items()
        ]

    def _begin_entry(self, key: str, position: Position) -> None:
        if len(key) > MAX_KEY:
            message = f"the key {shortened(key, 40)!r} has {len(key):,} characters, and {MAX_KEY:,} are the most"
            raise refused(KEY_TOO_LONG, message, self._where(position), "shorten it")
        frame = self.stack[-1]
        pointer = f"{frame.pointer}/{escape(key)}"
        if key in frame.value and pointer in self.keys:
            message = f"the key {key!r} occurs twice in one mapping, first in line {self.keys[pointer][0]}"
            self._report(DUPLICATE_KEY, message, position, pointer, "keep one of the two", Edit("", "", "entry"))
        frame.key, frame.key_position = key, position

    def _scalar(self, event: Any, position: Position) -> None:
        if self._awaits_key():
            self._begin_entry(event.value, position)
            self.stack[-1].merging = event.value == "<<" and event.implicit[0]
            return
        pointer = self._pointer(position)
        built = _FinishedNode(self._scalar_value(event, position, pointer), pointer)
        self._remember(event.anchor, built)
        self._add_to_parent(built)

    def _scalar_value(self, event: Any, position: Position, pointer: str) -> Any:
        text, tag = event.value, event.tag
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            self._report(BAD_CHARACTER, "half of a surrogate pair is not a character", position, pointer, "remove it")
            return ""
        is_plain = event.implicit[0]
        if tag in _TEXT_TAGS or tag == "!" or (tag is None and not is_plain):
            return text
        if tag in _VALUE_TAGS:
            value = self._plain_value(text, position, pointer)
            if value is not text and text and text != _spelled(value):
                self.written[pointer] = text
            return value
        self._report_tag(tag, position, pointer)
        return text

    def _report_tag(self, tag: str, position: Position, pointer: str) -> None:
        tag_text = tag.replace(_TAG, "!!")
        self._report(YAML_TAG, f"the tag {tag_text!r} is not allowed", position, pointer, "remove the tag")

    def _plain_value(self, text: str, position: Position, pointer: str) -> Any:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if text[0] not in _OF_NUMBERS or not (_INT.match(text) or _FLOAT.match(text) or _NOT_JSON.match(text)):
            return text
        number = _number_of(text)
        if number is None:
            message = f"the number {shortened(text, 40)} cannot be written in JSON"
            self._report(NUMBER_NOT_USABLE, message, position, pointer, "put it in quotes, or change it")
            return 0
        return number

    def _alias(self, anchor: str | None, position: Position) -> None:
        if any(frame.anchor == anchor for frame in self.stack):
            raise refused(ALIAS_LOOP, f"the alias *{anchor} is inside the node that it names", self._where(position))
        target = self.anchors.get(anchor or "")
        if target is None:
            fix = suggest(anchor or "", self.anchors, "define the anchor before it is used", form="*{}")
            message, edits = f"the alias *{anchor} has no anchor", clear_edit(anchor or "", self.anchors)
            edits = tuple(Edit(f"*{edit.old}", f"*{edit.new}", "text") for edit in edits)
            raise refused(UNKNOWN_ALIAS, message, self._where(position), fix, *edits)
        if self._awaits_key():
            self._begin_entry(self._key_text(target.value, position), position)
            return
        self.added += target.size
        if self.added > MAX_ADDED_BY_ALIASES:
            message = f"aliases make this document grow by more than {MAX_ADDED_BY_ALIASES:,} nodes"
            raise refused(ALIAS_BOMB, message, self._where(position))
        self._require_depth(len(self.stack) + target.depth, position)
        pointer = self._pointer(position)
        self.aliases[pointer] = target.pointer
        self._add_to_parent(_FinishedNode(target.value, target.pointer, target.size, target.depth))

    def _key_text(self, value: Any, position: Position) -> str:
        if isinstance(value, (dict, list)):
            raise refused(KEY_NOT_TEXT, "the key of a mapping must be text", self._where(position), "use a plain word")
        return value if isinstance(value, str) else json.dumps(value)

    def _require_depth(self, depth: int, position: Position) -> None:
        if depth > MAX_DEPTH:
            message = f"the document is nested deeper than {MAX_DEPTH} levels"
            raise refused(DOCUMENT_TOO_DEEP, message, self._where(position), "use fewer levels")

    def _open(self, event: Any, position: Position) -> None:
        if self._awaits_key():
            raise refused(KEY_NOT_TEXT, "the key of a mapping must be text", self._where(position), "use a plain word")
        self._require_depth(len(self.stack) + 1, position)
        pointer = self._pointer(position)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _TAG + ("map" if is_mapping else "seq")):
            self._report_tag(event.tag, position, pointer)
        self.stack.append(_OpenNode({} if is_mapping else [], pointer, event.anchor))

    def _close(self) -> None:
        frame = self.stack.pop()
        for source in frame.merges:
            self._merge(frame, source)
        built = _FinishedNode(frame.value, frame.pointer, frame.size, frame.depth)
        self._remember(frame.anchor, built)
        self._add_to_parent(built)

    def _remember(self, anchor: str | None, built: _FinishedNode) -> None:
        if anchor is not None:
            self.anchors[anchor] = built

    def _add_to_parent(self, built: _FinishedNode) -> None:
        """Put a finished node into its parent."""
        if not self.stack:
            self.root = built
            return
        parent = self.stack[-1]
        parent.size += built.size
        if parent.depth <= built.depth:
            parent.depth = built.depth + 1
        if isinstance(parent.value, list):
            parent.value.append(built.value)
        elif parent.merging:
            parent.merges.append(built)
        else:
            parent.value[parent.key or ""] = built.value
        parent.key, parent.merging = None, False

    def _merge(self, frame: _OpenNode, source: _FinishedNode) -> None:
        """Add the entries of `<<`: keys of the mapping itself win, then those of the first source."""
        target = frame.value
        if not isinstance(target, dict):
            return
        many = isinstance(source.value, list)
        parts = source.value if many else [source.value]
        for index, part in enumerate(parts):
            origin = f"{source.pointer}/{index}" if many else source.pointer
            if not isinstance(part, dict):
                position = self.positions[f"{frame.pointer}/<<"]
                fix = "write `<<: *name` with the anchor of a mapping"
                self._report(BAD_MERGE, "`<<` can only merge mappings", position, frame.pointer, fix)
                continue
            for key in part.keys() - target.keys():
                self.aliases[f"{frame.pointer}/{escape(key)}"] = f"{origin}/{escape(key)}"
            frame.value = target = {**target, **{key: value for key, value in part.items() if key not in target}}


def parse(file: str, text: str, corrected: int = 0) -> Document:
    """Read one YAML or JSON document.

    Args:
        corrected: How many texts without quotes have been corrected in it.

    Raises:
        InvalidInput: The text is not well-formed, is empty, holds several documents, is too deep, or its aliases make
            it grow without bound. Other faults are in `findings` of the document.
    """
    if text.lstrip(" \t\r\n")[:1] in ("{", "[", '"', "/"):
        text = json_as_yaml(text)
    builder = _Builder(file)
    try:
        _feed_document(builder, text)
    except InvalidInput as error:
        return _with_quotes(file, text, error, corrected)
    except yaml.MarkedYAMLError as error:
        from strands_cli.yaml_files.syntax_errors import syntax_error

        raise syntax_error(file, text, error, yaml.parse(text, Loader=LOADER)) from None
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        raise _character_error(file, text, error) from None
    if builder.root is None or builder.root.value is None:
        raise refused(DOCUMENT_EMPTY, "the document is empty", Where(file, 1, 1), "write a workflow into it")
    findings = sorted(builder.findings, key=lambda finding: (finding.where.line or 0) if finding.where else 0)
    findings += builder.more()
    places = (builder.positions, builder.keys, builder.aliases)
    return Document(file, text, builder.root.value, *places, tuple(findings), builder.written)


def _with_quotes(file: str, text: str, error: InvalidInput, corrected: int) -> Document:
    """Read a text again with quotes around the template that YAML has read as a mapping; raise any other error."""
    (finding, *_), lines = error.findings, text.split("\n")
    where = finding.where
    if (
        corrected == MAX_CORRECTED
        or finding.code != KEY_NOT_TEXT
        or where is None
        or where.line is None
        or where.column is None
    ):
        raise error
    line, at = lines[where.line - 1], where.column - 2
    match = _TEMPLATE.match(line, at) if line[at : at + 2] == "{{" else None
    if match is None:
        raise error
    in_flow = line[:at].count("{") + line[:at].count("[") > line[:at].count("}") + line[:at].count("]")
    end = len((line[: match.end()] if in_flow else line.partition(" #")[0]).rstrip())
    bare, last = line[at:end], line[end - 1]
    quote = "'" if '"' in bare else '"'
    # One of the two quotes may be there.
    quoted = last + bare if last in "\"'" and line.count(last) % 2 else f"{quote}{bare}{quote}"
    lines[where.line - 1] = f"{line[:at]}{quoted}{line[end:]}"
    message = f"`{bare}` has no quotes, so YAML reads a mapping"
    where_unquoted = Where(file, where.line, at + 1)
    edit = Edit(bare, quoted, "text")
    unquoted = Finding(UNQUOTED_TEMPLATE, message, where_unquoted, f"write {quoted}", edits=(edit,))
    document = parse(file, "\n".join(lines), corrected + 1)
    return replace(document, text=text, findings=(unquoted, *document.findings))


def _feed_document(builder: _Builder, text: str) -> None:
    outer = {yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent}
    documents = 0
    for event in iter(LOADER(text).get_event, None):
        kind = type(event)
        if kind is yaml.DocumentStartEvent:
            documents += 1
            if documents > 1:
                where = Where(builder.file, *_start_of(event))
                raise refused(SEVERAL_DOCUMENTS, "the file has more than one document", where, "split it at `---`")
        elif kind not in outer:
            builder.feed(event)


def _start_of(event: Any) -> Position:
    mark = event.start_mark
    return mark.line + 1, mark.column + 1


def _number_of(text: str) -> int | float | None:
    """Return the number, or None for one that JSON or this interpreter does not have."""
    try:
        if len(text) > _MOST_DIGITS:
            return None
        if _INT.match(text):
            whole = int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            return whole if whole.bit_length() <= _MOST_BITS else None
        number = float(text) if _FLOAT.match(text) else float("inf")
    except ValueError:  # more digits than sys.get_int_max_str_digits() allows
        return None
    return number if abs(number) != float("inf") else None


def _spelled(value: Any) -> str:
    """Return a number, a boolean or null as JSON has it."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)


def _character_error(file: str, text: str, error: Exception) -> InvalidInput:
    match = _UNREADABLE.search(text)
    offset = match.start() if match else 0
    line = text.count("\n", 0, offset) + 1
    where = Where(file, line, offset - text.rfind("\n", 0, offset))
    character = f"U+{ord(match[0]):04X}" if match else str(error)
    return refused(BAD_CHARACTER, f"the character {character} is not allowed in YAML", where)
