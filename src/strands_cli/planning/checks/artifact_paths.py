"""Artifacts before a run: paths that are known already are checked for collisions and escapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from strands_cli.errors import ArtifactError, Code, Finding
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS, ArtifactPlaces, obstacle, place_artifact
from strands_cli.outputs.output_folder import DEFAULT_OUT, require_own_folder
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.templates.plugin_filters import without_plugin_filters
from strands_cli.workflow.templates.template_errors import TemplateError
from strands_cli.yaml_files.document import Document

CANNOT_WRITE = Code(
    "cannot-write",
    "The output path is not a directory, or cannot be written to.",
    "Choose another directory, or correct its permissions.",
    12,
)
ARTIFACT_OUTSIDE = Code(
    "artifact-outside",
    "An artifact's path is absolute, has '..', leaves the output directory through a link, or has a protected name.",
    "Use a path inside the output directory and choose that directory with --out.",
    12,
)


@without_plugin_filters()
def check_outputs(
    spec: WorkflowSpec, document: Document, inputs: Mapping[str, Any], options: RunRequest
) -> list[Finding]:
    """Return findings for files that the run cannot write, as far as their paths follow from the inputs."""
    if options.as_written:
        return []
    if not spec.outputs.artifacts:
        return _check_record(options)
    templates = spec.templates()
    places = ArtifactPlaces(force=options.force, replaces=spec.outputs.overwrite)
    folders = (options.out_dir, *options.out_dir.parents)
    names = {"name": spec.name, "runtime": spec.runtime.model_dump(), **spec.inputs.names_of(inputs)}
    findings = _check_folder(options, document)
    for index, artifact in enumerate(spec.outputs.artifacts):
        where = document.where(f"/outputs/artifacts/{index}/path")
        try:
            path = spec.artifact_path(templates.render(artifact.path, names))
            target = place_artifact(_folder(options), path, is_chosen=DEFAULT_OUT not in folders)
        except TemplateError:
            continue  # needs a name that only the run has; it is checked when it is written
        except ArtifactError as error:
            findings.append(Finding(ARTIFACT_OUTSIDE, error.message, where, error.fix))
            continue
        if found := places.collision(target):
            findings.append(replace(found, where=where))
    return findings + _check_record(options)


def _folder(options: RunRequest) -> Path:
    """Return the directory of the artifacts: that of a worker's run begins in its folder."""
    return options.out_dir if options.beside == Path.cwd() else options.beside / options.out_dir


def _check_folder(options: RunRequest, document: Document) -> list[Finding]:
    """Return a finding if the output directory cannot take artifacts, or leads out of the working directory."""
    where = document.where("/outputs/artifacts")
    try:
        require_own_folder(options.out_dir, options.beside)
    except ArtifactError as error:
        return [Finding(ARTIFACT_OUTSIDE, error.message, where, error.fix)]
    problem = obstacle(_folder(options))
    message = f"the artifacts cannot be written: {problem}"
    return [Finding(CANNOT_WRITE, message, where, "choose another --out")] if problem else []


def _check_record(options: RunRequest) -> list[Finding]:
    """Return findings if the recording that `--record` asks for cannot be written."""
    if options.record is None:
        return []
    fix = "choose another name"
    if problem := obstacle(options.record.parent):
        return [Finding(CANNOT_WRITE, f"the recording {options.record} cannot be written: {problem}", fix=fix)]
    if options.record.exists() and not options.force:
        message = f"the recording {options.record} exists already"
        return [Finding(ARTIFACT_EXISTS, message, fix=f"pass --force to overwrite it, or {fix}")]
    return []
