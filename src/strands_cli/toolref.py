"""Tool refs, with which workflows name tools: `ToolRef.parse("native:foo@>=1,<2")`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import Literal

from strands_cli.quick_dataclass import dataclass

RefKind = Literal["short", "native", "legacy", "custom", "mcp", "agent", "workflow"]

MAX_LENGTH = 512
LEGACY_PACKAGE = "strands_tools"
PATH_PREFIX = "strands_cli.tools"
# The member of a ref to all tools of a family: `native:files.*`.
FAMILY = "*"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_IDENTIFIER = re.compile(r"[A-Za-z0-9._:-]+")
_UNSEEN = re.compile(r"[\x00-\x20\x7f]")


class ToolRefError(ValueError):
    """A text does not have a form of a tool ref; the message gives the reason and a correct form."""


@dataclass(frozen=True, slots=True)
class ToolRef:
    """A tool ref; two spellings with the same meaning are equal.

    Attributes:
        kind: The form, as in the table of `docs/reference/tool-refs.md`.
        name: The tool's name, or the id of an agent, an MCP server's tool (`""`: all of them) or a workflow's path.
        member: One tool of a class or suite (`native:db.query`); `*` for all tools of the family `name`.
        specifier: PEP 440 specifier for the distribution's version; a bare version means `==`.
        distribution: The distribution that must provide it.
        module: Dotted module of custom and legacy Python.
        attribute: Attribute in that module, dotted if it is nested.
        server: Id of the MCP server.
        written: The parsed text; `""` for a reference that code builds.
    """

    kind: RefKind
    name: str
    member: str | None = None
    specifier: str | None = None
    distribution: str | None = None
    module: str | None = None
    attribute: str | None = None
    server: str | None = None
    written: str = field(default="", init=False, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> ToolRef:
        """Return the tool ref of a text; `str()` of the result is the same text.

        Raises:
            ToolRefError: The text does not have a form of a tool ref.
        """
        return _parsed(text)

    def __str__(self) -> str:
        return self.written or self.canonical

    @property
    def canonical(self) -> str:
        """Return the spelling that all equal references share."""
        match self.kind:
            case "native":
                qualifier = f"{self.distribution}/" if self.distribution else ""
                member = f".{self.member}" if self.member else ""
                version = f"@{self.specifier}" if self.specifier else ""
                return f"native:{qualifier}{self.name}{member}{version}"
            case "mcp":
                return f"mcp:{self.server}/{self.name}" if self.name else f"mcp:{self.server}"
            case "agent" | "workflow":
                return f"{self.kind}:{self.name}"
            case "legacy" | "custom":
                # A module with the name of a prefix (`native`, `mcp`) is a module only in its dotted spelling.
                joint = "." if self.module in _PREFIXES else ":"
                return f"{self.module}{joint}{self.attribute}"
            case _:
                return self.name


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ToolRef:
    # Cached, because each call of a tool parses its reference several times.
    _require_plain(text)
    ref = _parse(text)
    object.__setattr__(ref, "written", text)
    return ref


def _require_plain(text: str) -> None:
    if not text:
        raise ToolRefError("a tool reference is empty; write a name such as 'calculator' or 'native:calculator'")
    if len(text) > MAX_LENGTH:
        raise ToolRefError(f"a tool reference is {len(text)} characters long; at most {MAX_LENGTH} are read")
    if text != text.strip() or (_UNSEEN.search(text) and "@" not in text):
        raise ToolRefError(f"tool reference {text!r} contains white space or control characters; remove them")


def _parse(text: str) -> ToolRef:
    prefix, colon, rest = text.partition(":")
    if colon and prefix in _PREFIXES:
        if not rest:
            raise ToolRefError(f"tool reference {text!r} ends after its prefix; a name must follow")
        return _PREFIXES[prefix](text, rest)
    head = text.replace(":", ".")
    if head.startswith(f"{PATH_PREFIX}."):
        return _parse_path(text, head[len(PATH_PREFIX) + 1 :])
    if head.startswith(f"{LEGACY_PACKAGE}."):
        return _parse_legacy(text)
    if _NAME.fullmatch(text):
        return ToolRef("short", text)
    return _parse_custom(text)


def _parse_native(text: str, rest: str) -> ToolRef:
    body, at, version = rest.partition("@")
    distribution, slash, path = body.rpartition("/")
    if slash and not _DISTRIBUTION.fullmatch(distribution):
        raise ToolRefError(f"{distribution!r} in {text!r} is not the name of a distribution")
    name, dot, member = path.partition(".")
    for part in (name, member) if dot else (name,):
        if not _NAME.fullmatch(part) and not (dot and part == member == FAMILY):
            form = "letters, digits, '_' and '-'" if dot and part == member else "lower-case letters, digits and '_'"
            raise ToolRefError(f"{part!r} in {text!r} is not a tool name ({form}, at most 64)")
    specifier = _specifier(text, version) if at else None
    return ToolRef("native", name, member=member or None, specifier=specifier, distribution=distribution or None)


def _specifier(text: str, version: str) -> str:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # a slow import, and few references have a version

    version = version.strip()
    specifier_text = f"=={version}" if version[:1].isdigit() else version
    try:
        specifier = SpecifierSet(specifier_text)
    except InvalidSpecifier:
        specifier = SpecifierSet()
    if not str(specifier):
        raise ToolRefError(f"{version!r} in {text!r} is not a version or a PEP 440 specifier such as '>=1.2,<2'")
    return str(specifier)


def _parse_path(text: str, rest: str) -> ToolRef:
    parts = rest.split(".")
    if not all(_NAME.fullmatch(part) for part in parts) or len(parts) > 2:
        raise ToolRefError(f"{text!r} is not a tool path; write 'native:' and the tool's name")
    member = parts[1] if len(parts) == 2 and parts[1] != parts[0] else None
    return ToolRef("native", parts[0], member=member)


def _parse_legacy(text: str) -> ToolRef:
    module, attribute = _split_python(text)
    if module == LEGACY_PACKAGE:  # `strands_tools.foo`: the module and its function share the name
        module = f"{LEGACY_PACKAGE}.{attribute}"
    return ToolRef("legacy", attribute.rpartition(".")[2], module=module, attribute=attribute)


def _parse_custom(text: str) -> ToolRef:
    if "@" in text:
        raise ToolRefError(f"{text!r} has a version, which needs the prefix: 'native:{text}'")
    if text.startswith((".", "/", "~")) or text.endswith(".py") or "\\" in text:
        raise ToolRefError(f"{text!r} is a file path; name Python as 'package.module:attribute'")
    if "/" in text:
        raise ToolRefError(f"{text!r} is not a tool reference; with a distribution write 'native:{text}'")
    module, attribute = _split_python(text)
    return ToolRef("custom", attribute.rpartition(".")[2], module=module, attribute=attribute)


def _split_python(text: str) -> tuple[str, str]:
    module, colon, attribute = text.partition(":")
    if not colon:
        module, _, attribute = text.rpartition(".")
    if not all(part.isidentifier() for dotted in (module, attribute) for part in dotted.split(".")):
        raise ToolRefError(f"{text!r} is not a tool reference such as native:name or package.module:attr")
    return module, attribute


def _parse_mcp(text: str, rest: str) -> ToolRef:
    server, slash, name = rest.partition("/")
    if not _IDENTIFIER.fullmatch(server) or (slash and not name):
        raise ToolRefError(f"{text!r} does not name an MCP server; write 'mcp:server' or 'mcp:server/tool'")
    return ToolRef("mcp", name, server=server)


def _parse_agent(text: str, rest: str) -> ToolRef:
    if not _IDENTIFIER.fullmatch(rest):
        raise ToolRefError(f"{rest!r} in {text!r} is not an agent id (letters, digits and '.', '_', ':', '-')")
    return ToolRef("agent", rest)


def _parse_workflow(_text: str, rest: str) -> ToolRef:
    return ToolRef("workflow", rest)


_PREFIXES: dict[str, Callable[[str, str], ToolRef]] = {
    "native": _parse_native,
    "mcp": _parse_mcp,
    "agent": _parse_agent,
    "workflow": _parse_workflow,
}


def with_prefix_corrected(text: str) -> str | None:
    """Return a reference whose prefix is mistyped by one letter, or by letters swapped, with the right prefix."""
    head, colon, rest = text.partition(":")
    if not (colon and rest and head.isidentifier()) or head in _PREFIXES:
        return None
    prefix = next(
        (good_prefix for good_prefix in _PREFIXES if head.lower() == good_prefix or _is_one_slip(head, good_prefix)),
        None,
    )
    return f"{prefix}:{rest}" if prefix else None


def _is_one_slip(word: str, prefix: str) -> bool:
    """Return whether one letter is missing, added or another, or two neighbours are swapped."""
    for at in range(len(prefix) + 1):
        before, after = prefix[:at], prefix[at:]
        if word in (before + after[1:], before + after[1:2] + after[:1] + after[2:]):
            return True
        if len(word) > at and word in (before + word[at] + after, before + word[at] + after[1:]):
            return True
    return False
