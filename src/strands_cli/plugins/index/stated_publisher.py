"""Who published a wheel, as far as the file beside it proves it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from strands_cli.indexes.site_files import MAX_BYTES
from strands_cli.plugins.index.wheel_tree import UnfitWheelError
from strands_cli.plugins.publisher.beside import attested_beside, provenance_beside


def state_publisher(wheel: Path, copy: Path) -> tuple[dict[str, Any], str | None, str | None]:
    """Return the publisher of a wheel, the name of the file that proves it, which is copied too, and why it does not.

    Args:
        wheel: The wheel in its folder.
        copy: Its copy in the site, which is what the publisher is verified for.

    Raises:
        UnfitWheelError: What is beside the wheel does not fit it.
    """
    proof = provenance_beside(wheel)
    if proof is None:
        return _stated("unverified", None), None, None
    if proof.stat().st_size > MAX_BYTES:
        raise UnfitWheelError(f"{proof.name} is larger than {MAX_BYTES:,} bytes")
    shutil.copyfile(proof, copy.with_name(proof.name))
    found = attested_beside(copy)
    if found.status == "wrong":
        raise UnfitWheelError(f"{proof.name} does not prove its publisher: {found.reason}")
    stated = _stated(found.status, found.publisher.as_dict() if found.publisher else None)
    return stated, proof.name, found.reason or None


def _stated(status: str, publisher: dict[str, Any] | None) -> dict[str, Any]:
    known = publisher or {}
    return {"status": status, **{key: known.get(key) for key in ("kind", "repository", "workflow")}}
