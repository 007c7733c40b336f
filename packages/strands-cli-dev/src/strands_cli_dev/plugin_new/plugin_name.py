"""The names of a new plugin: tool, distribution, package, class."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
import unicodedata
from dataclasses import dataclass

from strands_cli.api import Manifest, UsageError

_PREFIX = re.compile(r"strands[-_.]tool[-_.]")
# The tool of a class or provider, and the names that the generated module itself uses.
MEMBER = "answer_text"
_TAKEN = frozenset({"tool", "tool_metadata", "provide", "answer", "read_input", MEMBER})


@dataclass(frozen=True, slots=True)
class PluginName:
    """A plugin's names, derived from `tool`."""

    tool: str

    @property
    def distribution(self) -> str:
        """The name for pip: `strands-tool-your-words`."""
        return f"strands-tool-{self.tool.replace('_', '-').strip('-')}"

    @property
    def package(self) -> str:
        """The name for an import: `strands_tool_your_words`."""
        return f"strands_tool_{self.tool}"

    @property
    def title(self) -> str:
        """The name as part of a class name: `WordCount`."""
        return "".join(part.capitalize() for part in self.tool.split("_"))


def name_plugin(text: str) -> PluginName:
    """Return the names for `yours`, `strands-tool-yours` or `Your-Words`.

    Raises:
        UsageError: No tool could have that name, or it would hide a name of Python; the fix proposes another.
    """
    plain = _PREFIX.sub("", text.strip().lower(), count=1) if _PREFIX.match(text.strip().lower()) else text.strip()
    tool = re.sub(r"[-. ]+", "_", plain).lower()
    if not Manifest.TOOL_NAME.fullmatch(tool) or tool.endswith("_") or "__" in tool:
        reason = "is not a tool name: lower-case letters, digits and single '_', a letter first, at most 64"
    elif keyword.iskeyword(tool) or keyword.issoftkeyword(tool):
        reason = "is a word of Python itself"
    elif tool in sys.stdlib_module_names or hasattr(builtins, tool):
        reason = "is a name of Python's standard library"
    elif tool in _TAKEN:
        reason = "is a name that the plugin's own module needs"
    else:
        return PluginName(tool)
    raise UsageError(f"{text!r} {reason}", fix=f"for example: strands plugin new {_proposal(tool)}")


def _proposal(tool: str) -> str:
    folded = unicodedata.normalize("NFKD", tool).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "_", folded).strip("_")[:50].strip("_")
    if not words:
        return "my_tool"
    if not words[0].isalpha():
        return f"tool_{words}"
    return words if words != tool and _is_free(words) else f"my_{words}"


def _is_free(word: str) -> bool:
    python = keyword.iskeyword(word) or keyword.issoftkeyword(word) or hasattr(builtins, word)
    return not (python or word in sys.stdlib_module_names or word in _TAKEN)
