"""Read and check `strands_tools.json`, the manifest that describes tools without an import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from strands_cli.catalog.definitions.definition_check import KINDS, MEMBER_NAME, TOOL_NAME, Check, check_tool
from strands_cli.catalog.definitions.definition_diff import differences
from strands_cli.catalog.definitions.json_document import UnreadableError, read_document
from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.errors import Code, Finding, Where
from strands_cli.quick_dataclass import dataclass

BAD_MANIFEST = Code(
    "bad-manifest",
    "A strands_tools.json cannot be read or breaks the manifest's rules.",
    "Correct the reported field, or generate it again with: strands plugin manifest --write",
)
MANIFEST_VERSION = Code(
    "manifest-version",
    "A manifest is written for another version of strands-cli.",
    "Upgrade strands-cli or the distribution.",
)
MANIFEST_FIELD = Code("manifest-field", "A manifest has an unknown field.", "Correct or remove the field.")
MANIFEST_UNTRUE = Code(
    "manifest-untrue",
    "A manifest differs from the distribution's own metadata or code.",
    "Generate it again with: strands plugin manifest --write",
)

FILE_NAME = "strands_tools.json"
MANIFEST_FORMAT = 1
# The calling contract of this program; the `api` of a manifest must include it.
CONTRACT = 1
MAX_BYTES = 1_000_000

_TOP_FIELDS = {"manifest_version": int, "api": dict, "distribution": str, "tools": list}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid manifest: `tools` are its checked objects, `low` to `high` its calling contracts.

    Attributes:
        FILE_NAME: The name of its file, beside the code of the tools.
        TOOL_NAME: The form of a tool's name where it is the only one of its entry point.
        MEMBER_NAME: The form of a tool's name in a class, suite or provider.
        KINDS: The kinds of tools.
        CATALOGUE: The fields of a tool that code need not state.
        OTHER_VERSION: The code of a finding about a manifest for other calling contracts.
        UNTRUE: The code of a finding about a manifest that differs from the code of its tools.
    """

    FILE_NAME = FILE_NAME
    TOOL_NAME = TOOL_NAME
    MEMBER_NAME = MEMBER_NAME
    KINDS = KINDS
    CATALOGUE = ("requires", "config_schema", "examples", "family", "category", "deprecated")
    OTHER_VERSION = MANIFEST_VERSION
    UNTRUE = MANIFEST_UNTRUE

    file: str
    tools: tuple[Mapping[str, Any], ...]
    low: int
    high: int

    @property
    def contracts(self) -> str:
        """Return the range as text, `2` or `2 to 3`."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"

    @property
    def fits(self) -> bool:
        """Whether this program has a calling contract of the manifest."""
        return self.low <= CONTRACT <= self.high

    @staticmethod
    def document(distribution: str, tools: Sequence[Mapping[str, Any]], api: Any = None) -> dict[str, Any]:
        """Return the document of a manifest of these tools.

        Args:
            api: The calling contracts that it is written for; by default that of this program.
        """
        contracts = {"min": CONTRACT, "max": CONTRACT} if api is None else api
        return {"manifest_version": MANIFEST_FORMAT, "api": contracts, "distribution": distribution, "tools": [*tools]}

    @staticmethod
    def differences(old: Any, new: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
        """Yield the JSON pointer and both values of each difference between two values; an absent one is `...`."""
        return differences(old, new, pointer)

    @classmethod
    def parse(cls, raw: bytes, file: str, distribution: str | None) -> tuple[Manifest | None, list[Finding]]:
        """Read a manifest and check everything that does not need the code.

        Args:
            raw: The file's bytes.
            file: Its path, for findings.
            distribution: Normalised name of the distribution that contains it; None for whichever it names.

        Returns:
            The manifest, or None if it has an error, and all findings.
        """
        try:
            document = read_document(raw, MAX_BYTES)
        except UnreadableError as error:
            return None, [Finding(BAD_MANIFEST, f"the manifest {error}", Where(file, error.line, error.column))]
        check = Check(file, BAD_MANIFEST, MANIFEST_FIELD)
        if not isinstance(document, dict):
            check.fault("", "the manifest is not a JSON object")
            return None, check.findings
        version = document.get("manifest_version")
        if isinstance(version, int) and version > MANIFEST_FORMAT:
            message = f"the manifest has version {version}; this strands-cli reads version {MANIFEST_FORMAT}"
            return None, [Finding(MANIFEST_VERSION, message, Where(file, pointer="/manifest_version"))]
        low, high = _check_top(document, distribution, check)
        tools = document.get("tools")
        for index, tool in enumerate(tools if isinstance(tools, list) else ()):
            check_tool(tool, f"/tools/{index}", check)
        if check.failed:
            return None, check.findings
        return cls(file, tuple(document["tools"]), low, high), check.findings


def _check_top(document: Mapping[str, Any], distribution: str | None, check: Check) -> tuple[int, int]:
    check.fields(document, _TOP_FIELDS, "")
    for key in ("manifest_version", "distribution", "tools"):
        if key not in document:
            check.fault("", f"the manifest has no {key!r}")
    version = document.get("manifest_version", MANIFEST_FORMAT)
    if isinstance(version, int) and version < 1:
        check.fault("/manifest_version", f"manifest_version must be {MANIFEST_FORMAT}, not {version}")
    named = document.get("distribution")
    if distribution is not None and isinstance(named, str) and normalise(named) != distribution:
        message = f"the manifest names the distribution {named!r}, but belongs to '{distribution}'"
        check.fault("/distribution", message, MANIFEST_UNTRUE, "correct 'distribution', or reinstall the package")
    return _check_api(document.get("api"), check)


def _check_api(api: Any, check: Check) -> tuple[int, int]:
    if not isinstance(api, dict):
        return CONTRACT, CONTRACT  # absent means the first contract; another type is already reported
    check.fields(api, {"min": int, "max": int}, "/api")
    low, high = (api.get(key, CONTRACT) for key in ("min", "max"))
    if not (isinstance(low, int) and isinstance(high, int)):
        return CONTRACT, CONTRACT
    if low > high:
        check.fault("/api", f"api.min ({low}) is greater than api.max ({high})")
    return low, high
