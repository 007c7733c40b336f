"""Read and check `strands_tools.json`, the manifest that describes tools without an import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.catalog.definitions.definition_check import Check, check_tool
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
    """A valid manifest: `tools` are its checked objects, `low` to `high` its calling contracts."""

    file: str
    tools: tuple[Mapping[str, Any], ...]
    low: int
    high: int

    @property
    def contracts(self) -> str:
        """Return the range as text, `2` or `2 to 3`."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


def parse_manifest(raw: bytes, file: str, distribution: str | None) -> tuple[Manifest | None, list[Finding]]:
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
    return Manifest(file, tuple(document["tools"]), low, high), check.findings


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
