"""Wheels made by hand: what a build backend would write, and what none would."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.distributions import make_distribution, manifest_of, module_source, tool

WHEEL = "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    entry_points: Mapping[str, str] | str | None = None,
    files: Mapping[str, str | bytes] | None = None,
    manifest: Mapping[str, Any] | None = None,
    requires: Sequence[str] = (),
) -> Path:
    """Write a wheel into a folder; the arguments are those of `make_distribution`, and what it requires."""
    tree = folder / f"tree-{name}-{version}"
    record = make_distribution(tree, name, version, entry_points, files, manifest)
    (record / "WHEEL").write_text(WHEEL)
    with (record / "METADATA").open("a", encoding="utf-8") as metadata:
        metadata.writelines(f"Requires-Dist: {one}\n" for one in requires)
    rows = []
    wheel = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as opened:
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                inside, raw = path.relative_to(tree).as_posix(), path.read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
                rows.append(f"{inside},sha256={digest},{len(raw)}\n")
                opened.writestr(inside, raw)
        inside = f"{record.name}/RECORD"
        opened.writestr(inside, "".join([*rows, f"{inside},,\n"]))
    return wheel


def tool_wheel(
    folder: Path, tool_name: str, version: str = "1.0", files: Mapping[str, str | bytes] | None = None, **fields: Any
) -> Path:
    """Write the wheel of `strands-tool-<name>` with one module tool; `fields` go into the manifest's tool."""
    package = f"strands_tool_{tool_name}"
    own = {f"{package}/__init__.py": module_source(tool_name)}
    distribution = f"strands-tool-{tool_name.replace('_', '-')}"
    described = manifest_of(distribution, tool(tool_name, package, **fields))
    return make_wheel(folder, distribution, version, {tool_name: package}, {**own, **(files or {})}, described)
