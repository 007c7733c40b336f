"""Installed distributions with workflows, agents and skills, made as folders of `sys.path`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

TRIAGE = """version: 2
name: triage
runtime: {provider: replay, recording: triage.recording.yaml}
agents:
  sorter: {prompt: Sort reports.}
pattern: {type: chain, config: {steps: [{agent: sorter, input: "{{ report }}"}]}}
inputs: {required: {report: string}}
"""
RECORDING = "recording: 1\nsteps: {steps.0: [{text: urgent}]}\n"
READER = "prompt: Read reports.\nmodel_id: replay\n"
SKILL = "---\nname: tone\ndescription: How to answer.\n---\nBe brief.\n"


def make_packaged(
    site: Path,
    files: Mapping[str, str],
    entry_points: Mapping[str, str | list[str]],
    distribution: str = "strands-flow-your-triage",
    version: str = "1.0",
) -> Path:
    """Write a distribution into a directory of `sys.path` and return the folder of its package.

    Args:
        files: Texts by path in the package.
        entry_points: Lines by the last word of their group: `{"workflows": "triage = PACKAGE:flows"}`.
    """
    package = site / distribution.replace("-", "_")
    # An import would fail, so nothing that reads the folders imports it.
    for name, text in {"__init__.py": "raise SystemError('it was imported')\n", **files}.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    record = site / f"{package.name}-{version}.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    lines = []
    for group, written in entry_points.items():
        lines.append(f"[strands_cli.{group}]")
        lines += [written] if isinstance(written, str) else written
    (record / "entry_points.txt").write_text("\n".join(lines).replace("PACKAGE", package.name) + "\n")
    return package


def make_triage(site: Path, **more: str) -> Path:
    """Write a distribution with a workflow, an agent and a skill, and further files of the package."""
    files = {
        "flows/triage.yaml": TRIAGE,
        "flows/triage.recording.yaml": RECORDING,
        "agents/reader.yaml": READER,
        "skills/tone/SKILL.md": SKILL,
        **more,
    }
    points = {"workflows": "triage = PACKAGE:flows", "agents": "all = PACKAGE:agents", "skills": "all = PACKAGE:skills"}
    return make_packaged(site, files, points)
