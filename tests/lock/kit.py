"""A site with installed tools as an installer leaves them, RECORD included, and the lock of them."""

from __future__ import annotations

import base64
import hashlib
import shutil
from pathlib import Path

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.lock.lock_reader import Lock
from strands_cli.lock.package_documents import lock_distributions
from tests.distributions import module_source, sound


def install(site: Path, tool_name: str, version: str = "1.0", **fields: object) -> Path:
    """Install `strands-tool-<name>` with a RECORD that is true; return its package."""
    dist_info = sound(site, tool_name, version, **fields)
    package = site / f"strands_tool_{tool_name}"
    # What the manifest says of safety the code has to say too, or the tool is refused when it is loaded.
    said = {"annotations": fields["annotations"]} if "annotations" in fields else {}
    (package / f"{tool_name}.py").write_text(module_source(tool_name, **said), encoding="utf-8")
    write_record(dist_info, package)
    return package


def write_record(dist_info: Path, *packages: Path, more: str = "", installer: bool = True) -> None:
    """Write the RECORD of a distribution over the files that are there now."""
    site = dist_info.parent
    if installer:
        (dist_info / "INSTALLER").write_text("hand\n", encoding="utf-8")
    files = [path for folder in (dist_info, *packages) for path in sorted(folder.rglob("*")) if path.is_file()]
    lines = []
    for path in files:
        if path.name != "RECORD":
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
            lines.append(f"{path.relative_to(site).as_posix()},sha256={digest},{path.stat().st_size}\n")
    lines.append(f"{dist_info.name}/RECORD,,\n")
    (dist_info / "RECORD").write_text("".join(lines) + more, encoding="utf-8")


def lock_site(site: Path, *elsewhere: Path) -> Lock:
    """Return the lock of everything that is installed there."""
    catalog = discover_catalog([str(site), *map(str, elsewhere)])
    return Lock(lock_distributions(catalog.tools, catalog))


def edit(site: Path, name: str, old: str, new: str) -> None:
    path = site / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def upgrade(site: Path) -> None:
    shutil.rmtree(site / "strands_tool_shout-1.0.dist-info")
    install(site, "shout", "1.1", annotations={"readOnlyHint": True})
