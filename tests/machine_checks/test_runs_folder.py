"""The kind of a filesystem is read from the table of mounts."""

from __future__ import annotations

import os
from pathlib import Path

from strands_cli.machine_checks.file_modes import filesystem_of


def test_a_filesystem_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    real = os.path.realpath(tmp_path).replace(" ", "\\040")
    mounts.write_text(f"host:/x {real} nfs4 rw 0 0\n/dev/b {real}-other xfs rw 0 0\nshort\n/dev/a / ext4 rw 0 0\n")
    assert filesystem_of(tmp_path, mounts) == "nfs4"
    assert filesystem_of(tmp_path.parent, mounts) == "ext4"
    assert filesystem_of(tmp_path, tmp_path / "none") is None
