"""Which files `--watch` looks at beside the workflow and its tools."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from strands_cli.config import load_settings
from strands_cli.planning.file_watch import watch_rules


@pytest.mark.skipif(sys.platform != "linux", reason="the user's folder is elsewhere")
def test_files_that_decide_are_watched_before_they_exist(tmp_path: Path) -> None:
    user, folder = tmp_path / "user", tmp_path / "flows"
    watched = watch_rules(load_settings({"XDG_CONFIG_HOME": str(user)}), folder)
    mine = {str(user / "strands-cli" / name) for name in ("policy.yaml", "strands-adopted.json")}
    projects = {str(folder / name) for name in ("strands-policy.yaml", "strands-adopted.json", "strands.lock")}
    assert mine | projects <= watched.places
