"""Mounts before a run: each is a directory of this machine, and none is protected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from strands_cli.errors import Code, Finding
from strands_cli.protected_names import secret_in
from strands_cli.workflow import WorkflowSpec
from strands_cli.workflow.yaml import Document, escape

MISSING_MOUNT = Code(
    "missing-mount",
    "A directory that `env.mounts` names does not exist.",
    "Create the directory, or correct the path.",
    18,
)
PROTECTED_MOUNT = Code(
    "protected-mount",
    "A directory that `env.mounts` names is protected: it, or a folder above it, may hold credentials.",
    "Mount another directory, and put a copy of what the tools need there.",
)


def check_mounts(
    spec: WorkflowSpec, document: Document, base_dir: Path, places: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield a finding for each mount that is not a directory on this machine, or is a protected one.

    `places` are where they lead, by their path as written.
    """
    for name, path in spec.env.mounts.items():
        place, where = Path(places[path]), document.where(f"/env/mounts/{escape(name)}")
        if secret := secret_in((*(base_dir / path).parts, *place.parts)):
            message = f"the mount '{name}' is protected, since '{secret}' may hold credentials: {place}"
            yield Finding(PROTECTED_MOUNT, message, where, "mount another directory")
        elif not place.is_dir():
            message = f"the mount '{name}' is not a directory: {place}"
            yield Finding(MISSING_MOUNT, message, where, "make the directory, or correct the path")
