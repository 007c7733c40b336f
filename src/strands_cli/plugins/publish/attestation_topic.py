"""Whether the files of a distribution will be attested: published by CI that the index trusts, not by a person."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from strands_cli.canonical_json import json_object
from strands_cli.errors import Code, Finding, Where
from strands_cli.phrases import first_of
from strands_cli.plugins.publish.ci_file import PUBLISHER, WORKFLOWS, CiFile
from strands_cli.plugins.publish.project_source import ProjectSource
from strands_cli.plugins.publish.topic import Topic

NOT_ATTESTED = Code(
    "not-attested",
    "No CI file publishes a distribution with attestations, so its users cannot verify who built it.",
    "Copy the file that this prints: strands plugin publish --ci",
)

_MAX_FILES = 200
_MAX_BYTES = 200_000
# The first release that attests by default.
_ATTESTS_SINCE = (1, 11)


def attestation_topic(source: ProjectSource, ci: CiFile) -> Topic:
    """Look for a CI file that publishes as a trusted publisher, and for what would keep it from attesting."""
    publishing = dict(_publishing(ci.root / WORKFLOWS))
    if not publishing:
        folder, place, project = map(_shown, ((ci.root / ci.path).parent, ci.root / ci.path, source.directory))
        fix = f"mkdir -p {folder} && strands plugin publish --ci {project} > {place}"
        message = f"no file in {WORKFLOWS} publishes with attestations"
        return Topic("attestations", "none", (Finding(NOT_ATTESTED, message, None, fix, severity="warning"),))
    faults = [
        Finding(NOT_ATTESTED, f"{name}: {fault}", Where(str(ci.root / WORKFLOWS / name)), fix, severity="warning")
        for name, found in publishing.items()
        for fault, fix in found
    ]
    publisher = f"github:{ci.repository}" if ci.repository else "this repository"
    files = first_of(sorted(publishing), 2)
    return Topic("attestations", f"by {files} of {publisher}", tuple(faults))


def _shown(path: Path) -> str:
    """Return a path as a part of a command: relative to the current folder, where it is in it."""
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _publishing(folder: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each CI file that publishes, with its faults and what to do about each."""
    files = sorted(folder.glob("*.y*ml"))[:_MAX_FILES] if folder.is_dir() else []
    for file in files:
        document = _read(file)
        jobs = [json_object(job) for job in json_object(document.get("jobs")).values()]
        for job in jobs:
            steps = job.get("steps")
            for step in steps if isinstance(steps, list) else ():
                action = str(json_object(step).get("uses", ""))
                if action.partition("@")[0] == PUBLISHER:
                    yield file.name, list(_faults(document, job, json_object(step), action.partition("@")[2]))


def _read(file: Path) -> Any:
    import yaml

    try:
        with file.open("rb") as opened:
            return json_object(yaml.safe_load(opened.read(_MAX_BYTES)))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}


def _faults(document: Any, job: Any, step: Any, version: str) -> Iterator[tuple[str, str]]:
    allowed = job.get("permissions", document.get("permissions"))
    if json_object(allowed).get("id-token") != "write" and allowed != "write-all":
        yield "its job may not ask for an identity", "add permissions: {id-token: write} to the job"
    settings = json_object(step.get("with"))
    if settings.get("password"):
        yield "it publishes with a password, without attestations", "remove `password`, and make it a trusted publisher"
    if str(settings.get("attestations", "true")).lower() == "false":
        yield "it switches attestations off", "remove `attestations: false`"
    found = re.fullmatch(r"v(\d+)\.(\d+)(\..*)?", version)
    if found and (int(found[1]), int(found[2])) < _ATTESTS_SINCE:
        yield f"{PUBLISHER}@{version} does not attest", f"write {PUBLISHER}@v1.13.0"
