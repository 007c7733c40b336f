"""The CronJob that `strands trigger units` prints fits the schema of Kubernetes."""

from __future__ import annotations

from pathlib import Path

import kubernetes_validate
import pytest

from strands_cli_trigger.trigger_file import trigger_named
from strands_cli_trigger.units import units_of
from tests.yaml_texts import read_yaml

pytestmark = pytest.mark.deploy


def test_a_cron_job_fits_the_schemas_of_kubernetes(tmp_path: Path) -> None:
    file = tmp_path / "triggers.yaml"
    file.write_text(
        "version: 1\ntriggers:\n  of_night: {workflow: flow.yaml, schedule: '0 6 * * 1-5', stale_after: 2h}\n"
    )
    (job,) = units_of(trigger_named("of_night", file), "kubernetes", ["--yes"]).values()
    for version in ("1.32", "1.37"):
        kubernetes_validate.validate(read_yaml(job), version, strict=True)
